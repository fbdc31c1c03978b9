"""Planted scales and shifts are found again."""

from __future__ import annotations

import pytest
import torch

from sapiens2.evaluation.functional import (DEPTH_FITS, POINT_FITS, AlignmentError, align_depth, align_points,
                                            disparity_to_depth)
from sapiens2.utils.suggest import UnknownNameError

SIZE = (12, 9)
MASK = torch.ones(1, *SIZE, dtype=torch.bool)


def points() -> torch.Tensor:
    """(3, H, W), 1.5 to 4 m in front of the camera."""
    torch.manual_seed(0)
    x, y = torch.randn(2, *SIZE)
    return torch.stack([x, y, 1.5 + 2.5 * torch.rand(SIZE)])


@pytest.mark.parametrize('alignment, scale, shift', [
    ('scale', 0.4, 0.0), ('scale-median', 0.4, 0.0), ('scale-shift', 0.4, 0.3), ('scale-shift-l1', 0.4, 0.3)])
def test_depth(alignment: str, scale: float, shift: float) -> None:
    truth = points()[2:]
    torch.testing.assert_close(align_depth((truth - shift) / scale, truth, MASK, alignment), truth)


@pytest.mark.parametrize('alignment, shift', [
    ('scale', (0, 0, 0)), ('scale-median', (0, 0, 0)), ('scale-shift', (0, 0, 0.7)),
    ('scale-shift3', (0.2, -0.1, 0.7)), ('scale-shift3-l1', (0.2, -0.1, 0.7))])
def test_points(alignment: str, shift: tuple[float, float, float]) -> None:
    truth = points()
    moved = (truth - torch.tensor(shift)[:, None, None]) / 3
    torch.testing.assert_close(align_points(moved, truth, MASK, alignment), truth, atol=1e-5, rtol=1e-5)


def test_least_squares_by_hand() -> None:
    """s = (1*2 + 2*2) / (1 + 4) = 1.2; with a shift: s = 0, t = 2."""
    pred, truth, mask = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[2.0, 2.0]]]), torch.ones(1, 1, 2).bool()
    torch.testing.assert_close(align_depth(pred, truth, mask, 'scale'), torch.tensor([[[1.2, 2.4]]]))
    torch.testing.assert_close(align_depth(pred, truth, mask, 'scale-shift'), torch.tensor([[[2.0, 2.0]]]))


def test_outliers_move_least_squares_and_not_the_least_sum_of_distances() -> None:
    truth, wrong = points()[2:], points()[2:]
    pred = (truth - 0.3) / 0.4
    wrong[0, 0, :4] += 50
    errors = {name: (align_depth(pred, wrong, MASK, name) - truth).abs().max()
              for name in ('scale-shift', 'scale-shift-l1')}
    assert errors['scale-shift-l1'] < 1e-3 and errors['scale-shift'] > 0.1


def test_inverse_depth() -> None:
    truth = points()[2:]
    torch.testing.assert_close(disparity_to_depth(7 / truth - 1, truth, MASK), truth)
    torch.testing.assert_close(align_depth(1 / (7 / truth + 1), truth, MASK, 'disparity'), truth)


def test_pixels_outside_the_mask_are_not_fitted_but_changed() -> None:
    truth = points()[2:]
    mask, pred = MASK.clone(), truth / 2
    mask[0, 0] = False
    wrong = truth.clone()
    wrong[0, 0] = 1e6
    torch.testing.assert_close(align_depth(pred, wrong, mask, 'scale'), truth)


def test_what_cannot_be_fitted_is_an_error() -> None:
    truth = points()[2:]
    with pytest.raises(AlignmentError, match='all the same'):
        align_depth(torch.full_like(truth, 2.0), truth, MASK, 'scale-shift')
    with pytest.raises(AlignmentError, match='not positive'):
        align_depth(-truth, truth, MASK, 'disparity')
    with pytest.raises(UnknownNameError, match='scale-shift3'):
        align_points(points(), points(), MASK, 'scale-shift4')
    assert 'scale-shift3' not in DEPTH_FITS and 'disparity' not in POINT_FITS
