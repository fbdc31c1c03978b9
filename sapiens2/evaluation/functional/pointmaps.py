"""Distances between points, and angles between the normals of the surfaces they lie on, pooled over masked pixels."""

from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.evaluation.functional.normals import angle_bins, angle_scores, angle_sums, angles_deg
from sapiens2.evaluation.functional.sums import Sums, count, masked, ratio, total

WITHIN_CM = (5, 10, 20)
# Binomial weights across the direction of a slope.
_SMOOTH = (1, 4, 6, 4, 1)
_RADIUS = len(_SMOOTH) // 2


def pointmap_normals(points: Tensor) -> Tensor:
    """Normals (B, 3, H, W), of any length, of the surfaces of ``points`` (B, 3, H, W): right slope x down slope.

    Slopes are Sobel's over 5 x 5 pixels. The map is mirrored at its borders, where one slope is therefore exactly zero:
    pixels of the outermost ring have no normal, that is, the zero vector. A pixel with a value that is not finite
    nearby has a normal that is not finite.
    """
    # Mirroring needs more pixels than it adds.
    mode = 'reflect' if min(points.shape[-2:]) > _RADIUS else 'replicate'
    points = F.pad(points.float(), (_RADIUS,) * 4, mode=mode)
    return torch.cross(_slope(points, 3), _slope(points, 2), dim=1)


def _slope(points: Tensor, dim: int) -> Tensor:
    """Sobel's slope of padded points along ``dim``, 2 or 3; differences come first, so that they stay exact."""
    shifted = _shifts(points, dim)
    difference = shifted[4] - shifted[0] + 2 * (shifted[3] - shifted[1])
    return sum(weight * values for weight, values in zip(_SMOOTH, _shifts(difference, 5 - dim)))


def _shifts(maps: Tensor, dim: int) -> list[Tensor]:
    """The five views of ``maps`` along ``dim``, each as long as the map before it was padded."""
    size = maps.shape[dim] - 2 * _RADIUS
    return [maps.narrow(dim, start, size) for start in range(len(_SMOOTH))]


def pointmap_sums(pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
    """Sums for ``pointmap_scores``.

    Args:
        pred, target: (B, 3, H, W) points, metres, camera frame. Those outside the mask count only in the normals of
            their neighbours; true ones that are not finite, or at the camera's centre, are no points and leave their
            neighbours without a normal.
        mask: (B, 1, H, W) bool, pixels that count.
    """
    error = masked(pred, mask) - masked(target, mask)
    distance = torch.linalg.vector_norm(error, dim=-1)
    seen = target.masked_fill((target == 0).all(1, keepdim=True), torch.nan)
    normals = [masked(pointmap_normals(points), mask) for points in (pred, seen)]
    has_normal = torch.cat(normals, dim=-1).isfinite().all(-1) & (normals[1] != 0).any(-1)
    angles = angles_deg(*(normal[has_normal] for normal in normals))
    return {
        'pixels': count(mask),
        'distance': total(distance),
        'distance_squared': total(distance.double().square()),
        'absolute': total(error.abs()),
        'within': torch.stack([count(distance < limit / 100) for limit in WITHIN_CM]),
        'normals': count(has_normal),
        **angle_sums(angles),
    }


def pointmap_scores(sums: Sums, missing_deg: Optional[float] = None) -> dict[str, float]:
    """Figures over all masked pixels.

    Mean and root mean square of the distance, metres; mean absolute error along each axis, metres; percentages of
    pixels within ``WITHIN_CM``; angles between the normals of both point maps.

    Args:
        sums: of ``pointmap_sums``.
        missing_deg: angle of pixels whose true point map has no normal, more than any of ``WITHIN_DEG``; None leaves
            them out. The released program counts them with 90 degrees, so that it finds fault with the truth itself.
    """
    pixels, normals = sums['pixels'], sums['normals']
    scores = {'l2_m': ratio(sums['distance'], pixels), 'rmse_m': math.sqrt(ratio(sums['distance_squared'], pixels))}
    scores |= {f'{axis}_mae_m': ratio(value, pixels) for axis, value in zip('xyz', sums['absolute'])}
    scores |= {f'within_{limit}_cm_percent': 100 * ratio(number, pixels)
               for limit, number in zip(WITHIN_CM, sums['within'])}
    if missing_deg is not None:
        missing = pixels - normals
        histogram = sums['angle_histogram'].clone()
        histogram[angle_bins(torch.tensor(missing_deg))] += missing.long()
        sums = {**sums, 'angle': sums['angle'] + missing_deg * missing, 'angle_histogram': histogram,
                'angle_squared': sums['angle_squared'] + missing_deg**2 * missing}
        normals = pixels
    return {**scores, **angle_scores(sums, normals, 'normal_')}
