"""The estimator of the dense tasks: segmentation, normals, albedo, point maps."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from sapiens2.models.estimators.base_estimator import BaseEstimator
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


@MODELS.register_module()
class DenseEstimator(BaseEstimator):
    """A value for each pixel; which, is up to the head. The arguments are those of ``BaseEstimator``."""

    def predict(self, inputs: Tensor, data_samples: Sequence[DataSample]) -> list[DataSample]:
        return self.decode_head.predict(self.extract_feat(inputs), data_samples, **self.head_options())
