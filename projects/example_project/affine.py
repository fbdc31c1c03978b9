"""Scale and shift of depth maps, image by image."""

from __future__ import annotations

import torch
from torch import Tensor


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of (B, 1, H, W) values over the mask of each image, (B, 1, 1, 1); zero for an empty mask."""
    return values.where(mask, 0.0).sum((2, 3), keepdim=True) / mask.sum((2, 3), keepdim=True).clamp(min=1)


def normalized(depth: Tensor, mask: Tensor, least: float = 1e-6) -> Tensor:
    """Depth whose mean over the mask is 0 and whose mean distance from it is 1.

    Args:
        depth: (B, 1, H, W).
        mask: (B, 1, H, W) bool.
        least: smaller mean distances are taken for this one, so that a flat map stays finite.
    """
    centred = depth - mean(depth, mask)
    return centred / mean(centred.abs(), mask).clamp(min=least)


def fitted(pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """``scale * pred + shift``, float64, as near to ``target`` over the mask as least squares bring it.

    The scale is not negative: a map that is turned inside out is answered with the mean of the target.

    Args:
        pred: (B, 1, H, W), any unit.
        target: (B, 1, H, W), metres.
        mask: (B, 1, H, W) bool.
    """
    pred, target = pred.double(), target.double()
    shift, level = mean(pred, mask), mean(target, mask)
    centred = pred - shift
    variance = mean(centred.square(), mask)
    # What is left of a constant map is rounding: no slope can be read from it.
    flat = variance <= 1e-14 * shift.square() + torch.finfo(torch.float64).tiny
    scale = (mean(centred * (target - level), mask) / variance.where(~flat, 1.0)).where(~flat, 0.0).clamp(min=0)
    return scale * centred + level
