"""Losses of dense regression: values, several scales, differences between neighbours."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.losses.base import MaskedLoss, masked_mean
from sapiens2.models.losses.vectors import unit
from sapiens2.registry import MODELS


@MODELS.register_module()
class L1Loss(MaskedLoss):
    """Absolute error, summed over channels and averaged over masked pixels."""

    default_name = 'loss_l1'

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return masked_mean((pred - target).abs(), mask)


@MODELS.register_module()
class MultiscaleL1Loss(L1Loss):
    """``L1Loss`` of prediction and target enlarged bilinearly: weighs the values between the pixels too.

    As in the released program, a value between a pixel of the mask and one outside depends on both, so a finite target
    just outside the mask takes part: where that may be anything, a depth of zero for instance, set ``inside_only``.

    Args:
        scale_factor: enlargement.
        inside_only: mix the errors of masked pixels alone, each with its share in the sum of their weights.
    """

    default_name = 'loss_multiscale_l1'

    def __init__(self, scale_factor: int = 2, inside_only: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale_factor, self.inside_only = scale_factor, inside_only

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        def enlarge(maps: Tensor, mode: str = 'bilinear') -> Tensor:
            return F.interpolate(maps, scale_factor=self.scale_factor, mode=mode)

        inside = enlarge(mask.float(), 'nearest').bool()
        if not self.inside_only:
            return super().compute(enlarge(pred), enlarge(target), inside)
        # In the enlarged mask a pixel of the mask has a quarter of the weight at least.
        weight = enlarge(mask.to(pred.dtype)).where(inside, 1.0)
        return masked_mean((enlarge((pred - target).where(mask, 0.0)) / weight).abs(), inside)


@MODELS.register_module()
class GradientMSELoss(MaskedLoss):
    """Squared error of the forward differences along rows and columns, where both pixels are in the mask.

    The released NormalGradL1Loss (which sums the two directions) and AlbedoGradL1Loss (which averages them) compute
    this, in spite of their names.

    Args:
        average_directions: halve the sum of the two directions.
    """

    default_name = 'loss_gradient'

    def __init__(self, average_directions: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.average_directions = average_directions

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        error = pred - target
        total = sum(
            masked_mean(error.diff(dim=dim).square(), mask.narrow(dim, 1, mask.shape[dim] - 1)
                        & mask.narrow(dim, 0, mask.shape[dim] - 1)) for dim in (2, 3))
        return total / 2 if self.average_directions else total


@MODELS.register_module()
class NormalCosineSimilarityLoss(MaskedLoss):
    """One minus the cosine of the angle between predicted and true normals (B, 3, H, W) of any length.

    A normal of length zero, predicted or true, costs 1 and has no gradient.
    """

    default_name = 'loss_cosine'

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return masked_mean(1 - (unit(pred) * unit(target)).sum(1, keepdim=True), mask)


@MODELS.register_module()
class AlbedoChromaticityL1Loss(MaskedLoss):
    """Absolute error of the chromaticity, each colour divided by the sum of the three; albedo is clamped to [0, 1]."""

    default_name = 'loss_chromaticity'
    eps = 1e-6

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return masked_mean((self._chromaticity(pred) - self._chromaticity(target)).abs(), mask)

    def _chromaticity(self, albedo: Tensor) -> Tensor:
        albedo = albedo.clamp(0, 1)
        return albedo / (albedo.sum(dim=1, keepdim=True) + self.eps)
