"""A signal ends a run, and nothing that was finished is lost."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.utils.data import DataLoader, Dataset

from sapiens2.engine import Sapiens2Runner
from sapiens2.engine.hooks.stop import StopHook, Stopped, start_worker
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


class Slow(Dataset):
    """Numbers that take a while, from workers that get a signal meanwhile."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        time.sleep(0.01)
        return os.getpid()


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_workers_leave_a_signal_to_the_main_process(number: int) -> None:
    called: list[int] = []
    batches = iter(DataLoader(Slow(), num_workers=1, prefetch_factor=1, worker_init_fn=partial(
        start_worker, then=called.append)))
    worker = int(next(batches))
    os.kill(worker, number)
    assert [int(batch) for batch in batches] == [worker] * 5


def test_worker_ends_at_a_second_signal() -> None:
    context = multiprocessing.get_context('fork')
    is_ready = context.Event()
    worker = context.Process(target=wait_for_signals, args=(is_ready,))
    worker.start()
    assert is_ready.wait(60)
    deadline = time.monotonic() + 60
    while worker.is_alive() and time.monotonic() < deadline:
        os.kill(worker.pid, signal.SIGTERM)
        worker.join(0.2)
    assert worker.exitcode == 0


def wait_for_signals(is_ready: Any) -> None:
    start_worker(0)
    is_ready.set()
    while True:
        time.sleep(0.01)


def test_saved_config_is_formatted_before_the_run(toy_cfg: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Sapiens2Runner.from_cfg(toy_cfg(custom_hooks=[dict(type='SignalHook', at=3, place='before')]))
    hook = next(hook for hook in runner.hooks if isinstance(hook, SignalHook))
    kill = hook.before_train_iter

    def no_more_formatting(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(Config, 'pretty_text', property(lambda cfg: pytest.fail('formatted while it stops')))
        kill(*args, **kwargs)

    hook.before_train_iter = no_more_formatting
    with pytest.raises(Stopped):
        runner.train()
    assert "type='ToyModel'" in torch.load(Path(runner.work_dir, 'iter_3.pth'), weights_only=True)['meta']['cfg']


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


@pytest.mark.parametrize('together', [False, True])
def test_a_second_signal_ends_the_program_without_saving(monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: received.append(number))
    hook, now = StopHook(), 100.0
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    runner = SimpleNamespace(strategy=SimpleNamespace(all_stop=together, any=bool), optim_wrapper=SimpleNamespace(
        optimizer=torch.optim.SGD([torch.zeros(1)])))
    try:
        hook.before_train(runner)
        with nullcontext() if together else pytest.raises(Stopped):
            signal.raise_signal(signal.SIGTERM)
        now = 101.0
        signal.raise_signal(signal.SIGTERM)  # the first one again, handed on by a launcher
        assert received == []
        now = 103.0
        signal.raise_signal(signal.SIGTERM)
        assert received == [signal.SIGTERM]  # what there was before the hook has it
        with pytest.raises(Stopped, match='SIGTERM'):
            hook.before_train_iter(runner, 0)
    finally:
        hook.release()
        signal.signal(signal.SIGTERM, before)
