"""Losses of alpha mattes that the core does not have."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.losses.base import Loss, MaskedLoss, Names, full_precision, masked_mean, refuse_not_finite
from sapiens2.registry import MODELS

# Binomial approximation of a Gaussian, as usual for Laplacian pyramids.
_BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def laplacian_pyramid(maps: Tensor, levels: int) -> list[Tensor]:
    """Details of (B, C, H, W), finest first, each level of half the size (rounded up) of the one before.

    The coarse rest is left out.

    Raises:
        ValueError: if a side becomes too short to be smoothed.
    """
    kernel = maps.new_tensor(_BINOMIAL)
    window = torch.outer(kernel, kernel).expand(maps.shape[1], 1, 5, 5)
    details = []
    for level in range(levels):
        if min(maps.shape[2:]) < 3:
            raise ValueError(f'LaplacianPyramidLoss: level {level + 1} of {levels} has (H, W) = {tuple(maps.shape[2:])}'
                             ', and 3 pixels are needed to smooth it: set fewer levels')
        padded = F.pad(maps, (2, 2, 2, 2), mode='reflect')
        coarse = F.conv2d(padded, window, stride=2, groups=maps.shape[1])
        details.append(maps - F.interpolate(coarse, size=maps.shape[2:], mode='bilinear', align_corners=False))
        maps = coarse
    return details


@MODELS.register_module()
class LaplacianPyramidLoss(MaskedLoss):
    """Sum of the absolute differences of two Laplacian pyramids, level l weighing 2 ** l, over the number of pixels.

    Hou and Liu, Context-Aware Image Matting (arXiv 1909.09725), introduced it for mattes; they do not divide. All
    pixels count, whatever the mask.

    Args:
        levels: of the pyramid.
        kwargs: of ``Loss``.
    """

    default_name = 'loss_laplacian'

    def __init__(self, levels: int = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.levels = levels

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        # A pyramid is linear: that of the error is the difference of the two.
        details = laplacian_pyramid(pred - target, self.levels)
        return sum(2**level * detail.abs().sum() for level, detail in enumerate(details)) / mask.numel()


@MODELS.register_module()
class ForegroundL1Loss(Loss):
    """Absolute error of the foreground's colours, summed over channels, mean over the pixels that show some of it."""

    inputs = ('pred_foreground', 'foreground', 'target', 'names')
    default_name = 'loss_foreground'

    def forward(self, pred_foreground: Tensor, foreground: Tensor, target: Tensor, names: Names = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred_foreground, foreground: (B, 3, H, W) RGB in [0, 1].
            target: true opacity (B, 1, H, W).
            names: names of the samples, for errors.

        Raises:
            ValueError: if a true colour that counts is not finite.
        """
        pred, foreground = full_precision(pred_foreground), full_precision(foreground)
        seen = target > 0
        refuse_not_finite(foreground, seen, names)
        return self.loss_weight * masked_mean((pred - foreground.where(seen, pred.detach())).abs(), seen)
