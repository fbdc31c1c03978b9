"""The log starts soon and ends with the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mmengine.config import Config

from sapiens2.engine import Sapiens2Runner

ConfigMaker = Callable[..., Config]


@pytest.mark.parametrize('iterations, steps', [(1, [1]), (3, [1, 3]), (9, [1, 4, 8, 9])])
def test_first_regular_and_last_iteration(toy_cfg: ConfigMaker, iterations: int, steps: list[int]) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(
        train_cfg__max_iters=iterations, log_level='INFO',
        default_hooks__logger=dict(type='LoggerHook', interval=4, log_metric_by_epoch=False),
        visualizer=dict(type='HumanVisualizer', vis_backends=[dict(type='LocalVisBackend')])))
    runner.train()
    log, = Path(runner.work_dir).glob('*/vis_data/scalars.json')
    rows = [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()]
    assert [row['step'] for row in rows if 'loss' in row] == steps
    text = next(Path(runner.work_dir).glob('*/*.log')).read_text(encoding='utf-8')
    assert text.index('each of 2 samples') < text.index('iteration 1 has begun') < text.index(f'[1/{iterations}]')
    assert 'eta: ' in text and 'FileClient' not in text and 'HardDiskBackend' not in text


def test_resumed_run_logs_its_first_iteration(toy_cfg: ConfigMaker) -> None:
    options = dict(default_hooks__logger=dict(type='LoggerHook', interval=100, log_metric_by_epoch=False))
    first = Sapiens2Runner.from_cfg(toy_cfg('one', default_hooks__checkpoint__interval=3, **options))
    first.train()
    resumed = Sapiens2Runner.from_cfg(toy_cfg(
        'two', resume=True, load_from=str(Path(first.work_dir, 'iter_3.pth')), log_level='INFO', **options))
    resumed.train()
    text = next(Path(resumed.work_dir).glob('*/*.log')).read_text(encoding='utf-8')
    assert 'iteration 4 has begun' in text and '[4/6]' in text and '[5/6]' not in text


def test_resumed_run_says_that_its_updates_have_other_sizes(toy_cfg: ConfigMaker) -> None:
    first = Sapiens2Runner.from_cfg(toy_cfg('one', default_hooks__checkpoint__interval=3))
    first.train()
    start = dict(resume=True, load_from=str(Path(first.work_dir, 'iter_3.pth')), log_level='INFO')
    for name, changes, said in (
            ('same', {}, None),
            ('smaller', dict(train_dataloader__batch_size=1), 'set train_dataloader.batch_size=2 or '
                                                              'optim_wrapper.accumulative_counts=2.'),
            ('odd', dict(train_dataloader__batch_size=3, optim_wrapper__accumulative_counts=3), 'of that run.')):
        runner = Sapiens2Runner.from_cfg(toy_cfg(name, **start, **changes))
        runner.train()
        text = next(Path(runner.work_dir).glob('*/*.log')).read_text(encoding='utf-8')
        assert ('was made of 2 before' in text) == (said is not None)
        assert said is None or said in text


def test_figures_for_the_file_alone(toy_cfg: ConfigMaker, capsys: pytest.CaptureFixture[str]) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(log_level='INFO', default_hooks__logger=dict(
        type='LoggerHook', log_metric_by_epoch=False, file_only=['grad_norm', 'loss_'])))
    runner.train()
    shown = capsys.readouterr().err
    kept = next(Path(runner.work_dir).glob('*/*.log')).read_text(encoding='utf-8')
    for name in ('grad_norm: ', 'loss_toy: '):
        assert name in kept and name not in shown
    assert '  loss: ' in shown
