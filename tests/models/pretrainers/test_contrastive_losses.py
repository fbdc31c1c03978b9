"""Own losses against plain formulas, and their gradients against differences."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from sapiens2.models.pretrainers.cross_entropy import other_views, paired_cross_entropy
from sapiens2.models.pretrainers.koleo import koleo


def logits_and_targets(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 3, 7, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    targets = torch.randn(2, 3, 7, generator=generator, dtype=torch.float64).softmax(-1)
    return logits, targets


@pytest.mark.parametrize('teacher, student, pairs', [
    (2, 5, [[1], [0], [0, 1], [0, 1], [0, 1]]), (1, 3, [[], [0], [0]]), (2, 2, [[1], [0]])])
def test_a_view_is_not_compared_with_itself(teacher: int, student: int, pairs: list) -> None:
    assert other_views(teacher, student) == pairs


def test_one_view_is_not_enough() -> None:
    with pytest.raises(ValueError, match='two different views of an image, got 1 global and 0 local'):
        other_views(1, 1)


@pytest.mark.parametrize('teacher', [1, 2])
def test_cross_entropy_is_the_mean_over_pairs(teacher: int) -> None:
    logits, targets = logits_and_targets()
    targets = targets[:teacher]
    terms = [-(targets[t] * F.log_softmax(logits[s] / 0.1, -1)).sum(-1).mean()
             for t in range(teacher) for s in range(5) if s != t]
    expected = torch.stack(terms).mean()
    got = paired_cross_entropy(logits, targets, other_views(teacher, 5), 0.1)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, logits)[0] for value in (got, expected)))


def test_cross_entropy_gradcheck() -> None:
    logits, targets = logits_and_targets()
    assert gradcheck(lambda x: paired_cross_entropy(x, targets, other_views(2, 5), 0.3), (logits,))


def test_cross_entropy_keeps_the_dtype_of_the_logits_and_computes_in_float32() -> None:
    logits, targets = logits_and_targets(torch.bfloat16)
    loss = paired_cross_entropy(logits, targets.float(), other_views(2, 5), 0.1)
    grad, = torch.autograd.grad(loss, logits)
    exact = logits.detach().double().requires_grad_()
    expected = paired_cross_entropy(exact, targets, other_views(2, 5), 0.1)
    assert loss.dtype == torch.float32 and grad.dtype == torch.bfloat16
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    torch.testing.assert_close(grad.double(), torch.autograd.grad(expected, exact)[0], rtol=1e-2, atol=1e-6)


def brute_force_koleo(tokens: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((), dtype=tokens.dtype)
    for crop in tokens:
        unit = [row / row.norm() for row in crop]
        for index, row in enumerate(unit):
            nearest = min((row - other).norm() for place, other in enumerate(unit) if place != index)
            total = total - nearest.log() / len(unit)
    return total


def test_koleo_against_brute_force() -> None:
    tokens = torch.randn(2, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    got, expected = koleo(tokens), brute_force_koleo(tokens)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(*(torch.autograd.grad(value, tokens)[0] for value in (got, expected)), rtol=1e-5,
                               atol=1e-6)


def test_koleo_gradcheck() -> None:
    tokens = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    assert gradcheck(koleo, (tokens,))


def test_koleo_of_equal_samples_is_finite_and_without_slope() -> None:
    tokens = torch.ones(1, 2, 4).requires_grad_()
    loss = koleo(tokens)
    grad, = torch.autograd.grad(loss, tokens)
    assert loss.isfinite() and loss > 5 and grad.abs().max() == 0


def test_koleo_under_autocast_is_that_of_float32() -> None:
    tokens = torch.randn(1, 16, 8, generator=torch.Generator().manual_seed(3))
    with torch.autocast('cpu', torch.bfloat16):
        torch.testing.assert_close(koleo(tokens), koleo(tokens.double()).float())


def test_koleo_of_a_single_sample() -> None:
    with pytest.raises(ValueError, match='at least 2'):
        koleo(torch.ones(2, 1, 4))
