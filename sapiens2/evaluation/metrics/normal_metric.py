"""Metric of surface normals."""

from __future__ import annotations

from sapiens2.evaluation.functional import normal_scores, normal_sums
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class NormalMetric(MaskedMetric):
    """Angles between predicted and true normals, pooled over all masked pixels.

    Keys as in ``normal_scores``, after ``normal/``.
    """

    default_prefix = field = 'normal'
    sums_of_batch, figures = staticmethod(normal_sums), staticmethod(normal_scores)
