"""Distances between points, and angles between the normals of the surfaces they lie on, pooled over masked pixels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sapiens2.evaluation.functional.normals import angle_scores, angle_sums, angles_deg
from sapiens2.evaluation.functional.sums import Sums, count, masked, ratio, total
from sapiens2.models.losses.pointmap import pointmap_normals as difference_normals

WITHIN_CM = (5, 10, 20)


def pointmap_normals(points: Tensor, mask: Tensor) -> Tensor:
    """Unit normals (B, 3, H, W) of the surfaces of ``points`` (B, 3, H, W), metres.

    Args:
        points: point map, camera frame.
        mask: (B, 1, H, W) bool, pixels with a valid point.
    """
    return difference_normals(points.float().where(mask, 0.0))


def pointmap_sums(pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
    """Sums for ``pointmap_scores``.

    Args:
        pred, target: (B, 3, H, W) points, metres, camera frame.
        mask: (B, 1, H, W) bool, pixels that count.
    """
    error = masked(pred, mask) - masked(target, mask)
    distance = torch.linalg.vector_norm(error, dim=-1)
    angles = angles_deg(*(masked(pointmap_normals(points, mask), mask) for points in (pred, target)))
    return {
        'pixels': count(mask),
        'distance': total(distance),
        'distance_squared': total(distance.double().square()),
        'absolute': total(error.abs()),
        'within': torch.stack([count(distance < limit / 100) for limit in WITHIN_CM]),
        **angle_sums(angles),
    }


def pointmap_scores(sums: Sums) -> dict[str, float]:
    """Figures over all masked pixels.

    Mean and root mean square of the distance, metres; mean absolute error along each axis, metres; percentages of
    pixels within ``WITHIN_CM``; angles between the normals of both point maps.
    """
    pixels = sums['pixels']
    scores = {'l2_m': ratio(sums['distance'], pixels), 'rmse_m': math.sqrt(ratio(sums['distance_squared'], pixels))}
    scores |= {f'{axis}_mae_m': ratio(value, pixels) for axis, value in zip('xyz', sums['absolute'])}
    scores |= {f'within_{limit}_cm_percent': 100 * ratio(number, pixels)
               for limit, number in zip(WITHIN_CM, sums['within'])}
    return {**scores, **angle_scores(sums, pixels, 'normal_')}
