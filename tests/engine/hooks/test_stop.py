"""A signal ends a run, and nothing that was finished is lost."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks.stop import Stopped
from sapiens2.registry import HOOKS

ConfigMaker = Callable[..., Config]


@HOOKS.register_module(force=True)
class SignalHook(Hook):
    """Sends a signal to this process at one place of iteration ``at``."""

    priority = 'HIGHEST'

    def __init__(self, at: int, place: str, number: int = signal.SIGINT) -> None:
        self.at, self.place, self.number = at, place, number

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: object = None) -> None:
        if (batch_idx, 'before') == (self.at, self.place):
            os.kill(os.getpid(), self.number)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: object = None,
                         outputs: object = None) -> None:
        if (batch_idx, 'update') == (self.at, self.place):
            os.kill(os.getpid(), self.number)

    def before_val_iter(self, runner: Runner, batch_idx: int, data_batch: object = None) -> None:
        if self.place == 'val':
            os.kill(os.getpid(), self.number)


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


@pytest.mark.parametrize('place, done', [('before', 4), ('update', 5), ('val', 6)])
@pytest.mark.parametrize('workers', [0, 2])
def test_stopped_run_goes_on_exactly(toy_cfg: ConfigMaker, place: str, done: int, workers: int) -> None:
    options = dict(train_cfg__max_iters=9, train_cfg__val_interval=6, train_dataloader__num_workers=workers)
    ema = [dict(type='FiniteLossHook'), dict(type='EMAHook')]
    whole = train(toy_cfg('whole', custom_hooks=ema, **options))
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stopped = toy_cfg('stopped', custom_hooks=[*ema, dict(type='SignalHook', at=4, place=place)], **options)
    with pytest.raises(Stopped):
        train(stopped)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert [file.name for file in Path(stopped.work_dir).glob('iter_*.pth')] == [f'iter_{done}.pth']
    resumed = train(toy_cfg('stopped', resume=True, custom_hooks=ema, **options))
    one, two = (torch.load(Path(runner.work_dir, 'iter_9.pth'), weights_only=True) for runner in (whole, resumed))
    for key in ('state_dict', 'training_weights'):
        assert all(torch.equal(one[key][name], two[key][name]) for name in one[key]), key


def test_message_says_how_to_go_on(toy_cfg: ConfigMaker, caplog: pytest.LogCaptureFixture) -> None:
    cfg = toy_cfg(custom_hooks=[dict(type='SignalHook', at=3, place='before', number=signal.SIGTERM)])
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.logger.addHandler(caplog.handler)
    with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
        runner.train()
    assert 'SIGTERM: stopped. 3 iterations are saved in' in caplog.text and 'with --resume' in caplog.text


def test_nothing_to_save_before_the_first_iteration(toy_cfg: ConfigMaker) -> None:
    cfg = toy_cfg(custom_hooks=[dict(type='SignalHook', at=0, place='before')])
    with pytest.raises(Stopped):
        train(cfg)
    assert not list(Path(cfg.work_dir).glob('*.pth'))


def test_saved_checkpoint_counts_among_those_kept(toy_cfg: ConfigMaker) -> None:
    options = dict(default_hooks__checkpoint__interval=2, default_hooks__checkpoint__max_keep_ckpts=1,
                   train_cfg__max_iters=8)
    with pytest.raises(Stopped):
        train(toy_cfg('kept', custom_hooks=[dict(type='SignalHook', at=3, place='before')], **options))
    runner = train(toy_cfg('kept', resume=True, **options))
    assert [file.name for file in Path(runner.work_dir).glob('iter_*.pth')] == ['iter_8.pth']
