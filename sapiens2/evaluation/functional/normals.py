"""Angles between normals, pooled over all masked pixels of a validation set."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sapiens2.evaluation.functional.sums import Sums, count, masked, ratio, total

WITHIN_DEG = (5.0, 11.25, 22.5, 30.0)
BIN_DEG = 0.5
_BINS = round(180 / BIN_DEG)


def angles_deg(a: Tensor, b: Tensor) -> Tensor:
    """Angles (...,), degrees in [0, 180], between vectors (..., 3) of any length.

    The arc tangent of |a x b| over a . b, which unlike the arc cosine is exact for small angles, too. A vector of
    length zero is at 90 degrees to every other.
    """
    sine, cosine = torch.linalg.vector_norm(torch.cross(a, b, dim=-1), dim=-1), (a * b).sum(-1)
    zero = (sine == 0) & (cosine == 0)
    return torch.rad2deg(torch.atan2(sine, cosine)).masked_fill(zero, 90.0)


def angle_bins(angles: Tensor) -> Tensor:
    """The bin of ``BIN_DEG`` degrees in which each of ``angles``, degrees, lies."""
    # 180 degrees itself belongs to the last bin.
    return (angles / BIN_DEG).long().clamp(max=_BINS - 1)


def angle_sums(angles: Tensor) -> Sums:
    """Sums of ``angles`` (P,), degrees: of them, of their squares, of those below each of ``WITHIN_DEG``, by bins."""
    return {
        'angle': total(angles),
        'angle_histogram': torch.bincount(angle_bins(angles), minlength=_BINS),
        'angle_squared': total(angles.double().square()),
        'angle_within': torch.stack([count(angles < limit) for limit in WITHIN_DEG]),
    }


def angle_scores(sums: Sums, pixels: Tensor, prefix: str = '') -> dict[str, float]:
    """Mean, median and root mean square, degrees, and the percentages within ``WITHIN_DEG``, over ``pixels`` angles.

    The median is the centre of the bin of ``BIN_DEG`` degrees that holds it, so it is within a quarter of a degree of
    the exact one.
    """
    scores = {
        f'{prefix}mean_deg': ratio(sums['angle'], pixels),
        f'{prefix}median_deg': _median(sums['angle_histogram']),
        f'{prefix}rmse_deg': math.sqrt(ratio(sums['angle_squared'], pixels)),
    }
    for limit, number in zip(WITHIN_DEG, sums['angle_within']):
        name = f'{limit:g}'.replace('.', '_')
        scores[f'{prefix}within_{name}_deg_percent'] = 100 * ratio(number, pixels)
    return scores


def normal_sums(pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
    """Sums for ``normal_scores``.

    Args:
        pred, target: (B, 3, H, W) normals, camera frame, of any length.
        mask: (B, 1, H, W) bool, pixels that count.
    """
    return {'pixels': count(mask), **angle_sums(angles_deg(masked(pred, mask), masked(target, mask)))}


def normal_scores(sums: Sums) -> dict[str, float]:
    """Figures of the angle over all masked pixels, see ``angle_scores``."""
    return angle_scores(sums, sums['pixels'])


def _median(histogram: Tensor) -> float:
    cumulated = histogram.cumsum(0)
    if not cumulated[-1]:
        return math.nan
    return (int((2 * cumulated < cumulated[-1]).sum()) + 0.5) * BIN_DEG
