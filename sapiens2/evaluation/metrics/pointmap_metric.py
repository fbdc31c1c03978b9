"""Metric of point maps."""

from __future__ import annotations

from sapiens2.evaluation.functional import pointmap_scores, pointmap_sums
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class PointmapMetric(MaskedMetric):
    """Distances between predicted and true points, and angles between the normals of both point maps.

    Keys as in ``pointmap_scores``, after ``pointmap/``.
    """

    default_prefix = field = 'pointmap'
    sums_of_batch, scores = staticmethod(pointmap_sums), staticmethod(pointmap_scores)
