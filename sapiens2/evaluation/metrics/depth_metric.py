"""Metric of depth."""

from __future__ import annotations

from sapiens2.evaluation.functional import depth_scores, depth_sums
from sapiens2.evaluation.metrics.aligned import AlignedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class DepthMetric(AlignedMetric):
    """Errors of depth along the optical axis. Keys as in ``depth_scores``, after ``depth/``.

    The arguments are those of ``AlignedMetric``.
    """

    default_prefix = field = 'depth'
    sums_of_batch, figures = staticmethod(depth_sums), staticmethod(depth_scores)
