"""``sapiens2 plan``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapiens2.cli.main import main

CONFIG = str(Path(__file__).parents[2] / 'configs/seg/sapiens2-micro_seg_synth-128x96.py')
SMALL = ['--cfg-options', 'model.backbone.arch=sapiens2_nano']


def test_the_text_names_parts_time_and_assumptions(capsys):
    assert main(['plan', CONFIG, *SMALL, '--gpu', 't4', '--images', '1e6']) == 0
    out = capsys.readouterr().out
    for text in ('activations kept', 'its most', 'sum, of 14.6', 'largest batch of a GPU and pass that fits',
                 '1,000,000 images', 'days', 'Stated, not measured'):
        assert text in out


def test_json_of_a_run_on_two_nodes(capsys):
    assert main(['plan', CONFIG, *SMALL, '--nodes', '2', '--per-node', '4', '--strategy', 'hybrid', '--batch-size', '3',
                 '--checkpointing', 'full', '--json']) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan['spread']['num'] == 8 and plan['spread']['strategy'] == 'hybrid'
    assert plan['settings']['batch'] == 3 and plan['settings']['recompute'] == 1 and plan['settings']['half']
    names = ('weights', 'averages', 'optimizer', 'gradients', 'waiting', 'activations', 'temporary', 'communication',
             'framework')
    parts = [plan['memory'][name] for name in names]
    assert sum(parts) == pytest.approx(plan['memory']['total'])
    assert plan['fits'] and plan['speed']['samples'] == 24 and plan['remedies'] == []


def test_a_plan_that_does_not_fit_ends_with_one(capsys):
    assert main(['plan', CONFIG, *SMALL, '--gpu-memory', '0.5']) == 1
    out = capsys.readouterr().out
    assert 'does not fit' in out and 'What helps' in out and 'fits: none' in out
    assert 'None of it is enough' in out


@pytest.mark.parametrize('arguments, message', [
    (['--gpu', 'h100-90'], "Did you mean 'h100-80'"),
    (['--num', '12'], 'take 8 or 16'),
    (['--nodes', '3', '--num', '8'], 'give two of the three'),
    (['--offload'], 'fsdp2 and hybrid'),
    (['--strategy', 'fsdp3'], "Did you mean 'fsdp2'"),
    (['--gpus', 'nowhere.yml'], '--gpus: nowhere.yml cannot be read'),
])
def test_errors(capsys, arguments, message):
    assert main(['plan', CONFIG, *SMALL, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_config_without_a_model(capsys, tmp_path):
    file = tmp_path / 'empty.py'
    file.write_text('train_dataloader = dict(batch_size=2)\n')
    assert main(['plan', str(file)]) == 2
    assert 'the config has no model' in capsys.readouterr().err
