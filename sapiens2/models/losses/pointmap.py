"""Losses of point maps (B, 3, H, W): X right, Y down, Z forward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.losses.base import Loss, MaskedLoss, finite_target, masked_mean
from sapiens2.registry import MODELS


@MODELS.register_module()
class SiLogLoss(MaskedLoss):
    """Scale-invariant logarithmic error of the depth (Eigen et al., arXiv 1406.2283), averaged over the images.

    ``sqrt(mean(d ** 2) - variance_focus * mean(d) ** 2)`` with ``d`` the difference of the logarithms. The depth is the
    last channel. Unlike the usual form, the gradient at a perfect prediction is zero rather than not a number.

    Args:
        variance_focus: 0 punishes a wrong scale as much as anything, 1 not at all.
        min_depth: smaller depths, negative ones too, are taken for this one.
    """

    default_name = 'loss_silog'

    def __init__(self, variance_focus: float = 0.5, min_depth: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.variance_focus, self.min_depth = variance_focus, min_depth

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        logs = [x[:, -1:].clamp(min=self.min_depth).log() for x in (pred, target)]
        difference = (logs[0] - logs[1]).where(mask, 0.0).flatten(1)
        count = mask.flatten(1).sum(1).clamp(min=1)
        mean, square = difference.sum(1) / count, difference.square().sum(1) / count
        # The small number keeps the root's slope finite; d ** 2 has slope zero there.
        return ((square - self.variance_focus * mean.square()).clamp(min=0) + 1e-12).sqrt().mul(
            mask.flatten(1).any(1)).mean()


@MODELS.register_module()
class PointmapIntrinsicsConsistencyLoss(Loss):
    """How far predicted points lie from the rays of their pixels: |X - (u - cx) / fx Z| + |Y - (v - cy) / fy Z|.

    Pixel centres are at integers.
    """

    inputs = ('pred', 'mask', 'K')
    default_name = 'loss_intrinsics'

    def forward(self, pred: Tensor, K: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """Return the weighted loss; ``K`` (B, 3, 3) are the intrinsics of the network input in pixels."""
        pred, K = pred.float(), K.to(pred.device, torch.float32)
        mask = torch.ones_like(pred[:, :1], dtype=torch.bool) if mask is None else mask.bool()
        rows, columns = torch.meshgrid(
            *(torch.arange(side, device=pred.device, dtype=torch.float32) for side in pred.shape[-2:]), indexing='ij')
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
        mean = error.where(mask, 0.0).sum((2, 3), keepdim=True) / mask.sum((2, 3), keepdim=True).clamp(min=1)
        return masked_mean((error - mean).abs(), mask)


def pointmap_normals(points: Tensor) -> Tensor:
    """Unit normals (B, 3, H, W) of a point map: cross product of forward differences, the last ones repeated."""
    right, down = (torch.cat((points.diff(dim=dim), points.diff(dim=dim).narrow(dim, -1, 1)), dim) for dim in (3, 2))
    return F.normalize(torch.cross(right, down, dim=1), dim=1)


@MODELS.register_module()
class PointmapNormalLoss(MaskedLoss):
    """One minus the cosine, plus the mean absolute difference, of the normals of predicted and true point maps.

    The normals do not change with the scale of the points.
    """

    default_name = 'loss_normal'

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        pred, target = pointmap_normals(pred), pointmap_normals(target)
        error = 1 - (pred * target).sum(1, keepdim=True) + (pred - target).abs().mean(1, keepdim=True)
        return masked_mean(error, mask)


@MODELS.register_module()
class PointmapScaleL1Loss(Loss):
    """Absolute error of the predicted scale (B, 1), canonical focal length over focal length."""

    inputs = ('scale', 'target_scale', 'names')
    default_name = 'loss_scale'

    def forward(self, scale: Tensor, target_scale: Tensor, names: Optional[Sequence[str]] = None) -> Tensor:
        """Return the weighted mean over the batch."""
        target_scale = finite_target(target_scale, torch.ones_like(target_scale, dtype=torch.bool), names)
        return self.loss_weight * (scale.float() - target_scale).abs().mean()
