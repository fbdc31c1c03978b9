"""Losses of point maps (B, 3, H, W): X right, Y down, Z forward."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from sapiens2.models.losses.base import (
    Loss, MaskedLoss, Names, full_precision, masked_mean, mean, refuse, whole_mask)
from sapiens2.models.losses.vectors import unit
from sapiens2.registry import MODELS

# Sine of the narrowest angle between two sides of a triangle that still has a normal.
_MIN_SINE = 1e-4


@MODELS.register_module()
class SiLogLoss(MaskedLoss):
    """Scale-invariant logarithmic error of the depth (Eigen et al., arXiv 1406.2283), averaged over the images.

    ``sqrt(mean(d ** 2) - variance_focus * mean(d) ** 2)`` with ``d`` the difference of the logarithms. The depth is the
    last channel. Unlike the usual form, the gradient at a perfect prediction is zero rather than not a number. Images
    without masked pixels do not count in the average.

    Args:
        variance_focus: 0 punishes a wrong scale as much as anything, 1 not at all.
        min_depth: smaller predicted depths, negative ones too, are taken for this one, and have no gradient.
    """

    default_name = 'loss_silog'

    def __init__(self, variance_focus: float = 0.5, min_depth: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.variance_focus, self.min_depth = variance_focus, min_depth

    def check(self, target: Tensor, mask: Tensor, names: Names) -> None:
        refuse((target[:, -1:] <= 0) & mask, 'depths inside its mask that are not positive',
               'a mask must leave out pixels without depth', names)

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        logs = [x[:, -1:].clamp(min=self.min_depth).log() for x in (pred, target)]
        difference = (logs[0] - logs[1]).where(mask, 0.0).flatten(1)
        count = mask.flatten(1).sum(1)
        average, square = (x.sum(1) / count.clamp(min=1) for x in (difference, difference.square()))
        variance = square - self.variance_focus * average.square()
        # The root has no slope at zero, which is where a perfect prediction and an empty mask are.
        positive = variance > 0
        roots = variance.where(positive, 1.0).sqrt().where(positive, 0.0)
        return roots.sum() / (count > 0).sum().clamp(min=1)


@MODELS.register_module()
class PointmapIntrinsicsConsistencyLoss(Loss):
    """How far predicted points lie from the rays of their pixels: |X - (u - cx) / fx Z| + |Y - (v - cy) / fy Z|.

    Pixel centres are at integers.
    """

    inputs = ('pred', 'mask', 'K', 'names')
    default_name = 'loss_intrinsics'

    def forward(self, pred: Tensor, K: Tensor, mask: Optional[Tensor] = None, names: Names = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred: point maps (B, 3, H, W).
            K: (B, 3, 3) intrinsics of the network input, pixels.
            mask: as in ``MaskedLoss``.
            names: names of the samples, for errors.

        Raises:
            ValueError: if intrinsics are not finite or a focal length is not positive; names the sample.
        """
        pred, mask = full_precision(pred), whole_mask(mask, pred)
        K = K.to(pred)
        focal = torch.diagonal(K, dim1=1, dim2=2)[:, :2]
        refuse(~K.isfinite().flatten(1).all(1, keepdim=True) | (focal <= 0).any(1, keepdim=True),
               'camera matrix K with a value that is not finite or a focal length that is not positive', 'mend it',
               names)
        rows, columns = torch.meshgrid(
            *(torch.arange(side, device=pred.device, dtype=pred.dtype) for side in pred.shape[-2:]), indexing='ij')
        fx, fy, cx, cy = (K[:, i, j, None, None] for i, j in ((0, 0), (1, 1), (0, 2), (1, 2)))
        x, y, z = pred.unbind(1)
        error = (x - (columns - cx) / fx * z).abs() + (y - (rows - cy) / fy * z).abs()
        return self.loss_weight * masked_mean(error.unsqueeze(1), mask)


@MODELS.register_module()
class PointmapShiftInvariantL1Loss(MaskedLoss):
    """Absolute error after the mean of each image's masked points has been taken from prediction and target."""

    default_name = 'loss_shift_invariant'

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        error = pred - target
        shift = error.where(mask, 0.0).sum((2, 3), keepdim=True) / mask.sum((2, 3), keepdim=True).clamp(min=1)
        return masked_mean((error - shift).abs(), mask)


def _steps(maps: Tensor, dim: int) -> Tensor:
    """Forward differences along ``dim``, the last one repeated."""
    steps = maps.diff(dim=dim)
    return torch.cat((steps, steps.narrow(dim, -1, 1)), dim)


def pointmap_normals(points: Tensor) -> Tensor:
    """Unit normals (B, 3, H, W) of a point map: cross product of the steps to the right and down.

    Zero, with gradient zero, where the two steps vanish or point the same way: such a triangle has no normal, and one
    that is nearly so has a huge gradient. Point maps that were computed in bfloat16 are full of them.
    """
    right, down = _steps(points, 3), _steps(points, 2)
    lengths = [torch.linalg.vector_norm(step.detach(), dim=1, keepdim=True) for step in (right, down)]
    return unit(torch.cross(right, down, dim=1), shortest=1e-12 + _MIN_SINE * lengths[0] * lengths[1])


@MODELS.register_module()
class PointmapNormalLoss(MaskedLoss):
    """One minus the cosine, plus the mean absolute difference, of the normals of predicted and true point maps.

    The normals do not change with the scale of the points. Pixels of the mask beside a pixel without a true point (not
    finite, or the camera's centre) have no true normal and are left out.
    """

    default_name = 'loss_normal'

    def usable(self, target: Tensor, mask: Tensor) -> Tensor:
        known = target.isfinite().all(1, keepdim=True) & (target != 0).any(1, keepdim=True)
        points = target.masked_fill(~known, torch.nan)
        return mask & (_steps(points, 3) + _steps(points, 2)).isfinite().all(1, keepdim=True)

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        pred, target = pointmap_normals(pred), pointmap_normals(target)
        error = 1 - (pred * target).sum(1, keepdim=True) + (pred - target).abs().mean(1, keepdim=True)
        return masked_mean(error, mask)


@MODELS.register_module()
class PointmapScaleL1Loss(Loss):
    """Absolute error of the predicted scale (B, 1), canonical focal length over focal length."""

    inputs = ('scale', 'target_scale', 'names')
    default_name = 'loss_scale'

    def forward(self, scale: Tensor, target_scale: Tensor, names: Names = None) -> Tensor:
        """Return the weighted mean over the batch.

        Raises:
            ValueError: if a true scale is not finite; names the sample.
        """
        scale, target_scale = full_precision(scale), full_precision(target_scale)
        refuse(~target_scale.isfinite(), 'scale that is not finite', 'mend its K', names)
        return self.loss_weight * mean((scale - target_scale).abs())
