"""The estimator of key points of one person in each image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from sapiens2.models.estimators.base_estimator import BaseEstimator
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


@MODELS.register_module()
class TopdownPoseEstimator(BaseEstimator):
    """Key points of the person in each crop. The arguments are those of ``BaseEstimator``."""

    # flip_test: average the heat maps with those of the mirrored image, which doubles the time.
    estimator_options: ClassVar[dict[str, Any]] = {'flip_test': False}

    def predict(self, inputs: Tensor, data_samples: Sequence[DataSample]) -> list[DataSample]:
        mirrored = self.extract_feat(inputs.flip(-1)) if self.test_cfg['flip_test'] else None
        return self.decode_head.predict(
            self.extract_feat(inputs), data_samples, mirrored_feats=mirrored, **self.head_options())
