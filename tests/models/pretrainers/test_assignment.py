"""Soft assignments: sums, extremes, and figures that tell collapse from learning."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from sapiens2.models.pretrainers import Centring, Sinkhorn
from sapiens2.models.pretrainers.assignment_figures import assignment_figures


def cosines(rows: int = 24, prototypes: int = 10, seed: int = 0) -> Tensor:
    return torch.rand(rows, prototypes, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def plain_sinkhorn(values: Tensor, temperature: float, iterations: int) -> Tensor:
    """As it is written down: exponentials, columns, rows; in float64."""
    matrix = (values.double() / temperature).exp()
    for _ in range(iterations):
        matrix = matrix / matrix.sum(0, keepdim=True)
        matrix = matrix / matrix.sum(1, keepdim=True)
    return matrix


def test_sinkhorn_is_the_plain_iteration() -> None:
    got = Sinkhorn(10)(cosines(), 0.05).exp()
    torch.testing.assert_close(got.double(), plain_sinkhorn(cosines(), 0.05, 3), rtol=1e-4, atol=1e-7)


def test_sinkhorn_rows_and_columns() -> None:
    few, many = (Sinkhorn(10, iterations)(cosines(), 0.2).exp() for iterations in (3, 100))
    for got in (few, many):
        torch.testing.assert_close(got.sum(1), torch.ones(24))
    torch.testing.assert_close(many.sum(0), torch.full((10,), 2.4), rtol=1e-4, atol=0)
    torch.testing.assert_close(few.sum(0), torch.full((10,), 2.4), rtol=0.1, atol=0)


@pytest.mark.parametrize('temperature', [1e-3, 1e-2, 10.0])
def test_sinkhorn_is_stable(temperature: float) -> None:
    values = cosines()
    values[:, 3] = -1.0  # a prototype far from everything
    values[5] = values[6]
    got = Sinkhorn(10)(values, temperature).exp()
    assert got.isfinite().all()
    torch.testing.assert_close(got.sum(1), torch.ones(24))


def test_sinkhorn_of_half_precision_is_computed_in_float32() -> None:
    assert Sinkhorn(10)(cosines().bfloat16(), 0.04).dtype == torch.float32


def test_centre_follows_the_mean_of_all_batches_of_an_update() -> None:
    centring, first, second = Centring(10, momentum=0.8), cosines(seed=1), cosines(seed=2)
    torch.testing.assert_close(centring(first.clone(), 0.1), F.log_softmax(first / 0.1, 1))
    centring(second.clone(), 0.1)
    assert centring.centre.abs().max() == 0, 'the centre stands still within an update'
    centring.update()
    torch.testing.assert_close(centring.centre[0], 0.2 * torch.cat([first, second]).mean(0))
    before = centring.centre.clone()
    torch.testing.assert_close(centring(first.clone(), 0.1), F.log_softmax((first - before) / 0.1, 1))
    centring.update()
    torch.testing.assert_close(centring.centre, 0.8 * before + 0.2 * first.mean(0))
    centring.update()
    torch.testing.assert_close(centring.centre, 0.8 * before + 0.2 * first.mean(0))


def test_centring_in_evaluation_does_not_move() -> None:
    centring = Centring(10).eval()
    centring(cosines(), 0.1)
    centring.update()
    assert centring.centre.abs().max() == 0


def figures(assignments: Tensor) -> dict[str, float]:
    return {name: float(value) for name, value in
            assignment_figures(assignments.clamp(min=1e-30).log(), assignments).items()}


def test_figures_of_the_extremes() -> None:
    uniform = figures(torch.full((8, 10), 0.1))
    assert uniform['teacher_entropy'] == pytest.approx(math.log(10)) and abs(uniform['prototype_kl']) < 1e-5
    one = figures(F.one_hot(torch.full((8,), 3), 10).float())
    assert one['teacher_entropy'] == pytest.approx(0) and one['prototype_kl'] == pytest.approx(0, abs=1e-6)
    assert one['prototypes_used'] == 1
    apart = figures(F.one_hot(torch.arange(8), 10).float())
    assert apart['prototype_kl'] == pytest.approx(math.log(8)) and apart['prototypes_used'] == 8


def test_figures_by_hand() -> None:
    rows = torch.softmax(cosines() * 5, 1)
    mean = rows.mean(0)
    got = figures(rows)
    assert got['prototype_kl'] == pytest.approx(float((rows * (rows / mean).log()).sum(1).mean()), rel=1e-4)
    assert got['prototypes_used'] == len(set(rows.argmax(1).tolist()))


@pytest.mark.parametrize('kind, options, words', [
    (Sinkhorn, dict(iterations=0), 'at least 1'), (Centring, dict(momentum=1.0), r'\[0, 1\)')])
def test_faults(kind: type, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kind(10, **options)
