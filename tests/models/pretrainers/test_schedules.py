"""Schedules at their ends, between, and with options that do not fit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sapiens2.models.pretrainers import build_schedule


def test_a_number_is_constant() -> None:
    assert {build_schedule(0.3, 'x')(iteration, 10) for iteration in range(11)} == {0.3}
    assert build_schedule(dict(type='Constant', value=2), 'x')(5, 10) == 2


@pytest.mark.parametrize('warmup', [30, 0.3])
def test_linear(warmup: Any) -> None:
    schedule = build_schedule(dict(type='Linear', start=0.04, end=0.07, warmup=warmup), 'x')
    assert schedule(0, 100) == pytest.approx(0.04)
    assert schedule(10, 100) == pytest.approx(0.05)
    assert [schedule(iteration, 100) for iteration in (30, 31, 99, 100)] == [0.07] * 4


def test_share_of_the_run_grows_with_it_and_iterations_do_not() -> None:
    share, count = (build_schedule(dict(type='Linear', start=0, end=1, warmup=warmup), 'x') for warmup in (0.5, 50))
    assert share(50, 100) == 1 and share(50, 1000) == pytest.approx(0.1)
    assert count(50, 100) == count(50, 1000) == 1
    assert build_schedule(dict(type='Linear', start=0, end=1), 'x')(25, 100) == 0.25


def test_cosine() -> None:
    schedule = build_schedule(dict(type='Cosine', start=0.992, end=1.0), 'x')
    for iteration in (0, 1, 37, 50, 99):
        assert schedule(iteration, 100) == pytest.approx(
            1 - (1 - 0.992) * (math.cos(math.pi * iteration / 100) + 1) / 2, abs=1e-12)
    assert schedule(0, 100) == pytest.approx(0.992) and schedule(100, 100) == schedule(200, 100) == 1.0


def test_cosine_with_warmup() -> None:
    schedule = build_schedule(dict(type='Cosine', start=2.0, end=1.0, warmup=20, warmup_start=0.5), 'x')
    assert [schedule(iteration, 100) for iteration in (0, 10, 20, 60, 100)] == pytest.approx([0.5, 1.25, 2.0, 1.5, 1.0])
    assert schedule(19, 20) == pytest.approx(0.5 + 1.5 * 19 / 20) and schedule(20, 20) == 1.0


@pytest.mark.parametrize('config, words', [
    (dict(type='Cosin', start=0, end=1), "Did you mean 'Cosine'"),
    (dict(type='Cosine', start=0), 'end'),
    (dict(type='Linear', start=0, end=1, warm=3), 'warm'),
    (dict(type='Linear', start=0, end=1, warmup=1.5), 'share of the run'),
    (dict(type='Linear', start=0, end=1, warmup=-1), 'share of the run'),
    (dict(start=0, end=1), 'must be a number or a schedule'),
    ('0.1', 'must be a number or a schedule'),
    (True, 'must be a number or a schedule'),
])
def test_faults_name_the_field(config: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        build_schedule(config, 'contrastive.momentum')
    assert str(error.value).startswith('contrastive.momentum')
