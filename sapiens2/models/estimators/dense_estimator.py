"""The estimator of the dense tasks: segmentation, normals, albedo, point maps."""

from __future__ import annotations

from sapiens2.models.estimators.base_estimator import BaseEstimator
from sapiens2.registry import MODELS


@MODELS.register_module()
class DenseEstimator(BaseEstimator):
    """A value for each pixel; which, is up to the head. The arguments are those of ``BaseEstimator``."""
