"""The estimator of key points of one person in each image."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from sapiens2.models.estimators.base_estimator import BaseEstimator
from sapiens2.registry import MODELS


@MODELS.register_module()
class TopdownPoseEstimator(BaseEstimator):
    """Key points of the person in each crop. The arguments are those of ``BaseEstimator``."""

    # flip_test: average the heat maps with those of the mirrored image, which doubles the time.
    estimator_options: ClassVar[dict[str, Any]] = {'flip_test': False}

    def outputs(self, inputs: Tensor) -> Tensor:
        """Heat maps (B, K, h, w) of crops (B, 3, H, W); with ``flip_test`` the mean with those of the mirrored crops.

        Raises:
            ValueError: for ``flip_test`` with a head without ``metainfo``.
        """
        heatmaps = super().outputs(inputs)
        if not self.test_cfg['flip_test']:
            return heatmaps
        return (heatmaps.float() + self.decode_head.unmirror(super().outputs(inputs.flip(-1)).float())) / 2
