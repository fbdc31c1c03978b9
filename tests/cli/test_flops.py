"""Counts of the reference table."""

from __future__ import annotations

import json

import pytest

from sapiens2.cli.main import main

# Parameters, multiply-adds with attention, and without it, in 1e12, at 1024x768 (4K: 4096x3072, measured here).
TABLE = {
    'sapiens2_0.1b 1024x768': (113_993_472, 0.525690, 0.350724),
    'sapiens2_0.4b 1024x768': (395_450_368, 1.683723, 1.217145),
    'sapiens2_0.8b 1024x768': (814_283_520, 3.284414, 2.506784),
    'sapiens2_1b 1024x768': (1_455_474_176, 5.647768, 4.481322),
    'sapiens2_5b 1024x768': (5_066_902_976, 18.190210, 15.604589),
    'sapiens2_1b + tokenizer 4096x3072': (1_606_588_928, 13.598596, 12.421240),
}


def test_all_rows_of_the_reference_table(capsys):
    assert main(['flops', '--json']) == 0
    counted = json.loads(capsys.readouterr().out)
    assert list(counted) == list(TABLE)
    for name, (parameters, total, linear) in TABLE.items():
        assert counted[name]['parameters'] == parameters
        assert counted[name]['total'] / 1e12 == pytest.approx(total, rel=1e-5)
        assert (counted[name]['total'] - counted[name]['attention']) / 1e12 == pytest.approx(linear, rel=1e-5)


def test_modules_of_one_arch_at_another_size(capsys):
    assert main(['flops', '--arch', 'sapiens2_tiny', '--img-size', '256', '192', '--depth', '2']) == 0
    out = capsys.readouterr().out
    assert 'sapiens2_tiny 256x192' in out and 'blocks.11' in out and 'blocks.11.attn' not in out


def test_the_4k_model_may_be_named_as_in_the_zoo(capsys):
    assert main(['flops', '--arch', 'sapiens2_1b_4k', '--json']) == 0
    named = json.loads(capsys.readouterr().out)
    assert main(['flops', '--arch', 'sapiens2_1b', '--tokenizer', '--json']) == 0
    assert named == json.loads(capsys.readouterr().out)


def test_unknown_arch_and_contradiction_are_named(capsys):
    assert main(['flops', '--arch', 'sapiens2_1c']) == 2
    assert "'sapiens2_1b'" in capsys.readouterr().err
    assert main(['flops', 'x.py', '--arch', 'sapiens2_1b']) == 2
    assert 'not both' in capsys.readouterr().err
