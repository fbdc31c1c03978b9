"""Errors of the albedo, RGB in [0, 1]."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sapiens2.evaluation.functional.similarity import gradient_l1, structural_similarity
from sapiens2.evaluation.functional.sums import Sums, count, masked, ratio, total


def albedo_sums(pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
    """Sums for ``albedo_scores``.

    Args:
        pred, target: (B, 3, H, W) RGB in [0, 1].
        mask: (B, 1, H, W) bool, pixels that count.
    """
    error = masked(pred, mask) - masked(target, mask)
    gradient, gradient_count = gradient_l1(pred, target, mask)
    return {
        'values': count(mask) * error.shape[1],
        'absolute': total(error.abs().sum(-1)),
        'squared': total(error.double().square().sum(-1)),
        'ssim': structural_similarity(pred, target, mask).sum(),
        'images': mask.flatten(1).any(1).sum(dtype=torch.float64),
        'gradient': gradient,
        'gradient_count': gradient_count,
    }


def albedo_scores(sums: Sums) -> dict[str, float]:
    """Figures over all masked pixels and channels; the structural similarity is the mean over the images.

    The peak signal-to-noise ratio, decibel, is that of the pooled squared error to a peak of 1; infinite without error.
    """
    mean_square = ratio(sums['squared'], sums['values'])
    return {
        'mae': ratio(sums['absolute'], sums['values']),
        'rmse': math.sqrt(mean_square),
        'psnr_db': -10 * math.log10(mean_square) if mean_square != 0 else math.inf,
        'ssim': ratio(sums['ssim'], sums['images']),
        'grad_l1': ratio(sums['gradient'].sum(), sums['gradient_count'].sum()),
    }
