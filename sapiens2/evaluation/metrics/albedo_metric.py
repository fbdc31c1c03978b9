"""Metric of albedo."""

from __future__ import annotations

from sapiens2.evaluation.functional import albedo_scores, albedo_sums
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class AlbedoMetric(MaskedMetric):
    """Errors of the albedo, RGB in [0, 1].

    Keys as in ``albedo_scores``, after ``albedo/``.
    """

    default_prefix = field = 'albedo'
    sums_of_batch, figures = staticmethod(albedo_sums), staticmethod(albedo_scores)
