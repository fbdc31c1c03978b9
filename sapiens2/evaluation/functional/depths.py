"""Errors of depth along the optical axis, pooled over masked pixels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sapiens2.evaluation.functional.sums import Sums, count, masked, ratio, total

# Ratio of two depths within which they agree (Eigen et al., arXiv 1406.2283).
DELTA = 1.25


def depth_sums(pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
    """Sums for ``depth_scores``.

    Args:
        pred: (B, 1, H, W) metres; one that is not positive is an error like any other, and never agrees.
        target: (B, 1, H, W) positive metres.
        mask: (B, 1, H, W) bool, pixels that count.
    """
    pred, target = masked(pred, mask)[:, 0], masked(target, mask)[:, 0]
    error = (pred - target).double()
    agreeing = (torch.maximum(pred / target, target / pred) < DELTA) & (pred > 0)
    return {
        'pixels': count(mask),
        'squared': total(error.square()),
        'relative': total(error.abs() / target),
        'agreeing': count(agreeing),
    }


def depth_scores(sums: Sums) -> dict[str, float]:
    """Root mean square error, metres, mean error over the true depth, and the percentage within a factor of 1.25."""
    return {
        'rmse_m': math.sqrt(ratio(sums['squared'], sums['pixels'])),
        'abs_rel': ratio(sums['relative'], sums['pixels']),
        'delta1_percent': 100 * ratio(sums['agreeing'], sums['pixels']),
    }
