"""Loss of depth up to scale and shift."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from projects.example_project.affine import mean, normalized
from sapiens2.models.losses.base import MaskedLoss, Names, masked_mean, refuse
from sapiens2.registry import MODELS


@MODELS.register_module()
class AffineInvariantDepthLoss(MaskedLoss):
    """Absolute error of depths that are normalised image by image, and of their differences between neighbours.

    After Ranftl et al. (MiDaS, arXiv 1907.01341), who take median and disparity where this takes mean and depth, and
    differences at four scales where this takes one. Images whose true depth is flat have no scale and do not count.

    Args:
        gradient_weight: factor of the differences.
        least_depth_range: metres; mean distance from the mean depth below which an image counts as flat.
        kwargs: of ``Loss``.
    """

    default_name = 'loss_depth'

    def __init__(self, gradient_weight: float = 0.5, least_depth_range: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.gradient_weight, self.least_depth_range = gradient_weight, least_depth_range

    def check(self, target: Tensor, mask: Tensor, names: Names) -> None:
        refuse((target <= 0) & mask, 'depths inside its mask that are not positive',
               'a mask must leave out pixels without depth', names)

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        spread = mean((target - mean(target, mask)).abs(), mask)
        mask = mask & (spread > self.least_depth_range)
        error = normalized(pred, mask) - normalized(target, mask)
        loss = masked_mean(error.abs(), mask)
        for dim in (2, 3):
            pairs = mask.narrow(dim, 1, mask.shape[dim] - 1) & mask.narrow(dim, 0, mask.shape[dim] - 1)
            loss = loss + self.gradient_weight * masked_mean(error.diff(dim=dim).abs(), pairs)
        return loss
