"""Metric of albedo."""

from __future__ import annotations

from torch import Tensor

from sapiens2.evaluation.functional import Sums, albedo_scores, albedo_sums
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class AlbedoMetric(MaskedMetric):
    """Errors of the albedo, RGB in [0, 1].

    Keys as in ``albedo_scores``, after ``albedo/``.
    """

    default_prefix = 'albedo'
    field = 'albedo'

    def sums_of_batch(self, pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
        return albedo_sums(pred, target, mask)

    def scores(self, sums: Sums) -> dict[str, float]:
        return albedo_scores(sums)
