"""Metric of depth up to scale and shift."""

from __future__ import annotations

from torch import Tensor

from projects.example_project.affine import fitted, mean
from sapiens2.evaluation.functional.depths import depth_scores, depth_sums
from sapiens2.evaluation.functional.sums import Sums, ratio
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.registry import METRICS

# Metres: nearer than this no fitted depth is compared, since relative errors need positive depths.
NEAREST = 1e-3


@METRICS.register_module()
class AffineDepthMetric(MaskedMetric):
    """Errors of depth on people after least squares have found scale (not negative) and shift of each picture.

    Keys, after ``depth/``: those of ``depth_scores`` over all pixels of people, and ``unexplained_percent``, the mean
    over the pictures of the share of the depth's variance that is left: 0 is perfect, and any flat map has exactly 100.
    """

    default_prefix = field = 'depth'

    def sums_of_batch(self, pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
        depth, truth = fitted(pred, target, mask), target.double()
        left = mean((depth - truth).square(), mask)
        variance = mean((truth - mean(truth, mask)).square(), mask)
        counts = variance > 0
        return {
            **depth_sums(depth.clamp(min=NEAREST), truth, mask),
            'unexplained': (left / variance.where(counts, 1.0)).where(counts, 0.0).sum(),
            'pictures': counts.sum().double(),
        }

    def figures(self, sums: Sums) -> dict[str, float]:
        return {**depth_scores(sums), 'unexplained_percent': 100 * ratio(sums['unexplained'], sums['pictures'])}
