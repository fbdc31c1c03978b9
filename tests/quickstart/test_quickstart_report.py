"""The plan's commands and the report."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sapiens2.cli.main import build_parser
from sapiens2.quickstart.plan import Plan, shown
from sapiens2.quickstart.report import FIGURES, report, rows_of_figures
from sapiens2.quickstart.steps import Diary
from sapiens2.utils.config import load_config
from sapiens2.utils.tasks import TASKS


@pytest.fixture
def plan(tmp_path):
    made = Plan(tmp_path)
    made.figures('seg').parent.mkdir()
    for task, figures in FIGURES.items():
        for path, factor in ((made.trivial_figures(task), 1.0), (made.figures(task), 0.5)):
            path.write_text(json.dumps({figure.key: 20 * factor for figure in figures}))
    return made


def test_commands_are_those_of_the_project(plan):
    steps = [plan.generation(), *(step for lane in plan.lanes() for step in lane)]
    assert [step.name for step in steps] == ['people', *(f'{verb} {task}' for task in plan.iterations
                                                         for verb in ('train', 'test'))]
    assert sorted(plan.iterations) == sorted(TASKS)
    for step in steps:
        words = shown(step.command).split()
        assert words[0] == 'sapiens2'
        args = build_parser().parse_args(words[1:])
        if args.verb != 'synth':
            cfg = load_config(args.config, dict(args.cfg_options))
            assert cfg.test_dataloader.dataset.data_root == cfg.train_dataloader.dataset.data_root == str(plan.data)


def test_gains_say_when_a_figure_is_worse(plan):
    gains = {figure: gain for _, figure, _, _, gain in rows_of_figures(plan)}
    assert gains['mean angle, degrees'] == '50% less'
    assert gains['mean IoU of the classes, %'] == '0.5 times'
    assert gains['peak signal to noise, dB'] == '-10.0 dB'
    plan.figures('normal').write_text(json.dumps({figure.key: 30 for figure in FIGURES['normal']}))
    assert dict((row[1], row[4]) for row in rows_of_figures(plan))['mean angle, degrees'] == '50% MORE'


def test_report_holds_everything_and_loads_nothing(plan, tmp_path):
    diary = Diary(tmp_path, plan.noted())
    diary.add('train seg', 90.0, True)
    picture = np.full((8, 6, 3), 128, np.uint8)
    text = report(plan, diary, {task: [('held out, 1', (picture, picture, picture)),
                                       ('photograph', (picture, 'no ground truth', picture))] for task in TASKS})
    assert text.count('data:image/jpeg;base64,') == 5 * len(TASKS)
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert 'the mean normal everywhere' in text and '50% less' in text and '>1.5<' in text
    assert '--quick' not in text
    assert '--quick' in report(Plan.quick(tmp_path), diary, {})
