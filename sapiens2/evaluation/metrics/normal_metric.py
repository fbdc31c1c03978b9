"""Metric of surface normals."""

from __future__ import annotations

from torch import Tensor

from sapiens2.evaluation.functional import Sums, normal_scores, normal_sums
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class NormalMetric(MaskedMetric):
    """Angles between predicted and true normals, pooled over all masked pixels.

    Keys as in ``normal_scores``, after ``normal/``.
    """

    default_prefix = 'normal'
    field = 'normal'

    def sums_of_batch(self, pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
        return normal_sums(pred, target, mask)

    def scores(self, sums: Sums) -> dict[str, float]:
        return normal_scores(sums)
