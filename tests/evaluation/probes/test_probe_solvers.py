"""Least squares from sums, and logistic regression."""

from __future__ import annotations

import pytest
import torch

from sapiens2.evaluation.probes.solvers import LeastSquares, choose_strength, fit_logistic


def sums_of(x: torch.Tensor, y: torch.Tensor, blocks: int = 1) -> LeastSquares:
    sums = LeastSquares(x.shape[1], y.shape[1])
    for part, target in zip(x.chunk(blocks), y.chunk(blocks)):
        sums.add(part, target)
    return sums


def test_blocks_give_what_all_rows_give():
    torch.manual_seed(0)
    x, y = torch.randn(90, 5) * 3 + 2, torch.randn(90, 2)
    whole, blocks = sums_of(x, y).solve(0.1), sums_of(x, y, blocks=7).solve(0.1)
    torch.testing.assert_close(blocks(x), whole(x))
    torch.testing.assert_close((sums_of(x[:30], y[:30]) + sums_of(x[30:], y[30:])).solve(0.1)(x), whole(x))


def test_without_penalty_it_is_least_squares():
    torch.manual_seed(0)
    x, y = torch.randn(80, 4), torch.randn(80, 3)
    ones = torch.cat((x, torch.ones(80, 1)), 1)
    expected = ones @ torch.linalg.lstsq(ones, y).solution
    torch.testing.assert_close(sums_of(x, y).solve(0)(x), expected, atol=1e-4, rtol=1e-4)


def test_the_penalty_does_not_depend_on_units_and_a_large_one_gives_the_mean():
    torch.manual_seed(0)
    x, y = torch.randn(50, 3), torch.randn(50, 1)
    torch.testing.assert_close(sums_of(1000 * x, y).solve(0.5)(1000 * x), sums_of(x, y).solve(0.5)(x), atol=1e-4,
                               rtol=1e-4)
    torch.testing.assert_close(sums_of(x, y).solve(1e9)(x), y.mean(0).expand(50, 1), atol=1e-4, rtol=1e-4)


def test_error_is_the_squared_error_on_rows_that_were_not_learnt_from():
    torch.manual_seed(0)
    x, y, other_x, other_y = torch.randn(40, 3), torch.randn(40, 2), torch.randn(25, 3), torch.randn(25, 2)
    model = sums_of(x, y).solve(0.01)
    expected = float((model(other_x) - other_y).square().sum())
    assert sums_of(other_x, other_y).error(model) == pytest.approx(expected, rel=1e-4)


def test_a_constant_feature_does_no_harm():
    x, y = torch.cat((torch.ones(20, 1), torch.arange(20.)[:, None]), 1), torch.arange(20.)[:, None]
    torch.testing.assert_close(sums_of(x, y).solve(1e-9)(x), y, atol=1e-3, rtol=1e-3)


def test_logistic_regression_of_several_predictions_and_missing_labels():
    torch.manual_seed(0)
    x = torch.randn(200, 6)
    labels = torch.stack((x[:, :3].argmax(1), x[:, 3:].argmax(1)), 1)
    labels[:20, 1] = -1
    model = fit_logistic(x, labels, 3, 1e-6)
    predicted = model(x).reshape(200, 2, 3).argmax(2)
    right = (predicted == labels)[labels >= 0].float().mean()
    assert right > 0.99


def test_of_equal_strengths_the_largest_is_taken():
    assert choose_strength((0.1, 1.0, 10.0), lambda strength: 0.0) == 10.0
    assert choose_strength((0.1, 1.0, 10.0), lambda strength: -strength) == 0.1
