"""Counts of the reference table."""

from __future__ import annotations

import json

import pytest

from sapiens2.cli.main import main
from sapiens2.utils import flops

# Parameters, multiply-adds with attention, and without it, in 1e12, at 1024x768 (4K: 4096x3072, measured here).
TABLE = {
    'sapiens2_0.1b 1024x768': (113_993_472, 0.525690, 0.350724),
    'sapiens2_0.4b 1024x768': (395_450_368, 1.683723, 1.217145),
    'sapiens2_0.8b 1024x768': (814_283_520, 3.284414, 2.506784),
    'sapiens2_1b 1024x768': (1_455_474_176, 5.647768, 4.481322),
    'sapiens2_5b 1024x768': (5_066_902_976, 18.190210, 15.604589),
    'sapiens2_1b + tokenizer 4096x3072': (1_606_588_928, 13.598596, 12.421240),
}


@pytest.fixture
def no_trace(monkeypatch):
    """Count parameters alone: tracing a large model takes seconds."""
    monkeypatch.setattr(flops, 'count_flops', lambda model, size: flops.FlopReport(
        parameters=sum(parameter.numel() for parameter in model.parameters()), total=0, attention=0))


def counts(capsys, *arguments: str) -> dict[str, dict]:
    assert main(['flops', *arguments, '--json']) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize('row', TABLE)
def test_rows_of_the_reference_table(capsys, row):
    name = row.split()[0]
    counted = counts(capsys, '--arch', f'{name}_4k' if 'tokenizer' in row else name)
    assert list(counted) == [row]
    parameters, total, linear = TABLE[row]
    assert counted[row]['parameters'] == parameters
    assert counted[row]['total'] / 1e12 == pytest.approx(total, rel=1e-5)
    assert (counted[row]['total'] - counted[row]['attention']) / 1e12 == pytest.approx(linear, rel=1e-5)


def test_without_a_name_all_rows_are_counted(capsys, no_trace):
    counted = counts(capsys)
    assert {name: row['parameters'] for name, row in counted.items()} == {name: row[0] for name, row in TABLE.items()}
    assert list(counted) == list(TABLE)


def test_modules_of_one_arch_at_another_size(capsys):
    assert main(['flops', '--arch', 'sapiens2_tiny', '--img-size', '256', '192', '--depth', '2']) == 0
    out = capsys.readouterr().out
    assert 'sapiens2_tiny 256x192' in out and 'blocks.11' in out and 'blocks.11.attn' not in out


def test_the_4k_model_may_be_named_as_in_the_zoo(capsys, no_trace):
    assert counts(capsys, '--arch', 'sapiens2_1b_4k') == counts(capsys, '--arch', 'sapiens2_1b', '--tokenizer')


def test_unknown_arch_and_contradiction_are_named(capsys):
    assert main(['flops', '--arch', 'sapiens2_1c']) == 2
    assert "'sapiens2_1b'" in capsys.readouterr().err
    assert main(['flops', 'x.py', '--arch', 'sapiens2_1b']) == 2
    assert 'not both' in capsys.readouterr().err
