"""Brings predictions of unknown scale, shift or inversion to the truth before they are measured, image by image.

An affine-invariant network says depth up to a scale and a shift (Ranftl et al., "Towards Robust Monocular Depth
Estimation", arXiv 1907.01341), a point map up to a scale and a translation (Wang et al., "MoGe", arXiv 2410.19115).
What is fitted is taken from the truth, so aligned figures are not comparable with those of a metric network.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from sapiens2.evaluation.functional.sums import masked
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# Metres. Aligned disparity that is not positive, or nearly so, stands for what is very far.
FARTHEST_M = 1e3
# Rounds of reweighted least squares, and the residual, a share of the spread of the truth, below which weights stay.
_ROUNDS, _FLOOR = 50, 1e-6

# (P, C) predicted and true values of the pixels that count -> scale (1,) and shift (C,), in float64.
Fit = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class AlignmentError(ValueError):
    """Too few pixels, or predicted values that are all the same, so that nothing can be fitted."""


def fit_scale(pred: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Least squares: s = sum p t / sum p p; no shift."""
    return _quotient((pred * target).sum(), (pred * pred).sum()), pred.new_zeros(pred.shape[1])


def fit_median_scale(pred: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """s = median(t) / median(p) of the last coordinate, which is depth; no shift."""
    return _quotient(target[:, -1].quantile(0.5), pred[:, -1].quantile(0.5)), pred.new_zeros(pred.shape[1])


def fit_scale_shift(pred: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Least squares: one scale, and a shift of each coordinate.

    s = sum (p - mean p)(t - mean t) / sum (p - mean p)^2, shift = mean t - s mean p.
    """
    return _weighted_fit(pred, target, pred.new_ones(len(pred), 1))


def fit_scale_depth_shift(pred: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Least squares: one scale, and a shift along the optical axis, the last coordinate, alone."""
    moved = torch.cat([torch.zeros_like(pred[:, :-1]), torch.ones_like(pred[:, -1:])], dim=1)
    mean_pred, mean_target = (values.mean(0, keepdim=True) * moved for values in (pred, target))
    p, t = pred - mean_pred, target - mean_target
    scale = _quotient((p * t).sum(), (p * p).sum())
    return scale, (mean_target - scale * mean_pred)[0]


def fit_scale_shift_l1(pred: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """As ``fit_scale_shift`` with the least sum of distances in place of squares, which outliers hardly move.

    Least squares with the weights 1 / distance of the round before (Holland and Welsch, "Robust regression using
    iteratively reweighted least-squares", 1977).
    """
    scale, shift = fit_scale_shift(pred, target)
    floor = _FLOOR * float(torch.linalg.vector_norm(target - target.mean(0), dim=1).max())
    for _ in range(_ROUNDS if floor > 0 else 0):
        distance = torch.linalg.vector_norm(scale * pred + shift - target, dim=1, keepdim=True)
        scale, shift = _weighted_fit(pred, target, 1 / distance.clamp(min=floor))
    return scale, shift


def _weighted_fit(pred: Tensor, target: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    weights = weights / weights.sum()
    mean_pred, mean_target = (weights * pred).sum(0), (weights * target).sum(0)
    p, t = pred - mean_pred, target - mean_target
    scale = _quotient((weights * p * t).sum(), (weights * p * p).sum())
    return scale, mean_target - scale * mean_pred


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    if not denominator.abs() > torch.finfo(denominator.dtype).tiny:
        raise AlignmentError('the predicted values are all the same, or zero, so no scale can be fitted')
    return numerator / denominator


DEPTH_FITS: dict[str, Fit] = {
    'scale': fit_scale, 'scale-median': fit_median_scale, 'scale-shift': fit_scale_shift,
    'scale-shift-l1': fit_scale_shift_l1, 'disparity': fit_scale_shift}
POINT_FITS: dict[str, Fit] = {
    'scale': fit_scale, 'scale-median': fit_median_scale, 'scale-shift': fit_scale_depth_shift,
    'scale-shift3': fit_scale_shift, 'scale-shift3-l1': fit_scale_shift_l1}
NONE = 'none'


def align_depth(pred: Tensor, target: Tensor, mask: Tensor, alignment: str) -> Tensor:
    """``pred`` as near to ``target`` as ``alignment`` can bring it.

    Args:
        pred: (1, H, W) depth in any unit; for 'disparity' positive, as it is the inverse that is fitted.
        target: (1, H, W) positive metres.
        mask: (1, H, W) bool, pixels that are fitted; all pixels are changed.
        alignment: 'none' or a key of ``DEPTH_FITS``.

    Returns:
        (1, H, W) float32 metres.

    Raises:
        UnknownNameError: if there is no such alignment for depth.
        AlignmentError: if nothing can be fitted.
    """
    if alignment != 'disparity':
        return _aligned_by(pred, target, mask, alignment, DEPTH_FITS, 'depth')
    if not bool((pred[mask] > 0).all()):
        raise AlignmentError('the predicted depth has values inside the mask that are not positive, so it has no '
                             'inverse to align')
    return disparity_to_depth(1 / pred, target, mask)


def disparity_to_depth(pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """Depth, (1, H, W) metres, of inverse depth that is right up to a scale and a shift.

    Least squares of s p + t to 1 / ``target``; depth is the inverse of that, at most ``FARTHEST_M``.

    Args:
        pred: (1, H, W) inverse depth, larger where it is nearer; any number.
        target: (1, H, W) positive metres.
        mask: (1, H, W) bool, pixels that are fitted.

    Raises:
        AlignmentError: if nothing can be fitted.
    """
    inverse = _aligned(pred, 1 / target.clamp(min=1 / FARTHEST_M), mask, fit_scale_shift)
    return 1 / inverse.clamp(min=1 / FARTHEST_M)


def align_points(pred: Tensor, target: Tensor, mask: Tensor, alignment: str) -> Tensor:
    """``pred`` as near to ``target`` as ``alignment`` can bring it.

    Args:
        pred: (3, H, W) points in any unit, camera frame.
        target: (3, H, W) points, metres, camera frame.
        mask: (1, H, W) bool, pixels that are fitted; all pixels are changed.
        alignment: 'none' or a key of ``POINT_FITS``.

    Returns:
        (3, H, W) float32 metres.

    Raises:
        UnknownNameError: if there is no such alignment for points.
        AlignmentError: if nothing can be fitted.
    """
    return _aligned_by(pred, target, mask, alignment, POINT_FITS, 'points')


def _aligned_by(pred: Tensor, target: Tensor, mask: Tensor, alignment: str, fits: dict[str, Fit], what: str) -> Tensor:
    if alignment not in (NONE, *fits):
        raise UnknownNameError(unknown_name(alignment, (NONE, *fits), f'alignment of {what}'))
    return pred if alignment == NONE else _aligned(pred, target, mask, fits[alignment])


def _aligned(pred: Tensor, target: Tensor, mask: Tensor, fit: Fit) -> Tensor:
    if not mask.any():
        return pred  # nothing is measured either
    values = [masked(maps[None], mask[None]).double() for maps in (pred, target)]
    scale, shift = fit(*values)
    return (scale * pred.double() + shift[:, None, None]).float()
