"""Structure: local similarity, and differences between neighbours."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.evaluation.functional.sums import masked, total

# OpenCV's Gaussian of 7 pixels (sigma about 1.4 pixels), in 32nds.
_WINDOW = (1.0, 3.5, 7.0, 9.0, 7.0, 3.5, 1.0)
_RADIUS = len(_WINDOW) // 2


def structural_similarity(pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Mean structural similarity (B,), float64, of each image over its masked pixels and its channels.

    Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004, but with a Gaussian
    window of 7 x 7 pixels, mirrored at the borders. Pixels outside the mask have the mean of the masked ones of their
    image and channel: black in both images, they would agree and hide errors at the edge of the mask.

    Args:
        pred, target: (B, C, H, W) in [0, 1].
        mask: (B, 1, H, W) bool. An image without masked pixels has 0.
    """
    a, b = (_fill(images.float(), mask) for images in (pred, target))
    mean_a, mean_b = _blur(a), _blur(b)
    # Rounding may leave a small negative variance where a picture is flat.
    variance_a, variance_b = (_blur(a * a) - mean_a**2).clamp(min=0), (_blur(b * b) - mean_b**2).clamp(min=0)
    covariance = _blur(a * b) - mean_a * mean_b
    c1, c2 = 0.01**2, 0.03**2
    similarity = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)
                  / ((mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2)))
    pixels = mask.sum((1, 2, 3)).clamp(min=1) * pred.shape[1]
    return similarity.where(mask, 0.0).sum((1, 2, 3), dtype=torch.float64) / pixels


def gradient_l1(pred: Tensor, target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Absolute errors of the forward differences: their sums, and how many there are, along rows and columns.

    Args:
        pred, target: (B, C, H, W).
        mask: (B, 1, H, W) bool; a difference counts if both of its pixels are in it.

    Returns:
        Sums (2,) and numbers (2,), float64: across columns, then across rows.
    """
    error = (pred.float() - target.float()).where(mask, 0.0)
    sums, numbers = [], []
    for dim in (3, 2):
        both = mask.narrow(dim, 1, mask.shape[dim] - 1) & mask.narrow(dim, 0, mask.shape[dim] - 1)
        sums.append(total(masked(error.diff(dim=dim).abs(), both).sum(-1)))
        numbers.append(both.sum(dtype=torch.float64) * error.shape[1])
    return torch.stack(sums), torch.stack(numbers)


def _fill(images: Tensor, mask: Tensor) -> Tensor:
    """``images`` (B, C, H, W) with the mean of the masked pixels, for each image and channel, outside ``mask``."""
    inside = images.where(mask, 0.0)
    means = inside.double().sum((2, 3), keepdim=True) / mask.sum((2, 3), keepdim=True).clamp(min=1)
    return inside.where(mask, means.float())


def _blur(images: Tensor) -> Tensor:
    """Gaussian blur of (B, C, H, W), one direction after the other."""
    # Mirroring needs more pixels than it adds.
    mode = 'reflect' if min(images.shape[-2:]) > _RADIUS else 'replicate'
    images = F.pad(images, (_RADIUS,) * 4, mode=mode)
    kernel = images.new_tensor(_WINDOW) / sum(_WINDOW)
    channels = images.shape[1]
    for shape in ((1, 1, 1, -1), (1, 1, -1, 1)):
        images = F.conv2d(images, kernel.view(shape).expand(channels, -1, -1, -1), groups=channels)
    return images
