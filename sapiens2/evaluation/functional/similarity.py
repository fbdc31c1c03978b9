"""Structure: local similarity, and differences between neighbours."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.evaluation.functional.sums import masked, total

WINDOW, SIGMA = 11, 1.5  # pixels


def structural_similarity(pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Mean structural similarity (B,), float64, of each image over its masked pixels and its channels.

    Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004, with its Gaussian
    window of 11 x 11 pixels, sigma 1.5. Pixels outside the mask are black in both images.

    Args:
        pred, target: (B, C, H, W) in [0, 1].
        mask: (B, 1, H, W) bool. An image without masked pixels has 0.
    """
    a, b = (x.float().where(mask, 0.0) for x in (pred, target))
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


def _blur(images: Tensor) -> Tensor:
    """Gaussian blur of (B, C, H, W), one direction after the other; zeros outside."""
    offset = torch.arange(WINDOW, device=images.device, dtype=images.dtype) - WINDOW // 2
    kernel = torch.softmax(-offset.square() / (2 * SIGMA**2), dim=0)
    channels = images.shape[1]
    for shape, padding in (((1, 1, 1, -1), (0, WINDOW // 2)), ((1, 1, -1, 1), (WINDOW // 2, 0))):
        weight = kernel.view(shape).expand(channels, -1, -1, -1)
        images = F.conv2d(images, weight, padding=padding, groups=channels)
    return images
