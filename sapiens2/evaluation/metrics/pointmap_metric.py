"""Metric of point maps."""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

from sapiens2.evaluation.functional import Sums, pointmap_scores, pointmap_sums
from sapiens2.evaluation.metrics.aligned import AlignedMetric
from sapiens2.registry import METRICS


@METRICS.register_module()
class PointmapMetric(AlignedMetric):
    """Distances between predicted and true points, and angles between the normals of both point maps.

    Keys as in ``pointmap_scores``, after ``pointmap/``.

    Args:
        missing_deg: angle, degrees, given to pixels whose true point map has no normal, in place of leaving them out.
        kwargs: of ``AlignedMetric``.
    """

    default_prefix = 'pointmap'
    field = 'pointmap'

    def __init__(self, missing_deg: Optional[float] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.missing_deg = missing_deg

    def sums_of_batch(self, pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
        return pointmap_sums(pred, target, mask)

    def figures(self, sums: Sums) -> dict[str, float]:
        return pointmap_scores(sums, self.missing_deg)
