"""Ctrl-C and SIGTERM end a training run at once, and no finished iteration is lost.

Schedulers, containers and terminals send a signal to the main process alone or to all processes of a run. Workers that
load data leave it to the main process: without them it could not go on to the end of an update.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Optional

from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.registry import HOOKS

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Seconds in which a second signal is the first one again: a scheduler gives it to a process, and torchrun hands it on.
SAME_SIGNAL = 2


def start_worker(worker_id: int, then: Optional[Callable[[int], None]] = None) -> None:
    """Let a worker that loads data pass over the signals; for ``DataLoader(worker_init_fn=...)``.

    torch would end it at a SIGTERM, and the main process with it. It ends when the main process does or tells it to, or
    at a second SIGTERM, which is also how torch and Python get rid of one that hangs.

    Args:
        worker_id: its number.
        then: what else is to be called with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _pass_over_once)
    if then is not None:
        then(worker_id)


def _pass_over_once(number: int, frame: Optional[FrameType]) -> None:
    signal.signal(number, _end_worker)


def _end_worker(number: int, frame: Optional[FrameType]) -> None:
    os._exit(0)  # any other end would be reported by the main process as a fault


class Stopped(KeyboardInterrupt):
    """A signal has ended the run; weights, optimizer and schedule are those of the last finished iteration.

    The text is for people: which signal, and once the runner has saved, how to go on.
    """


@HOOKS.register_module()
class StopHook(Hook):
    """Turns SIGINT and SIGTERM into ``Stopped``, which the runner answers with a checkpoint.

    A forward or backward pass is broken off: it has changed nothing. From the update of the weights until the hooks of
    that iteration have run, the signal waits, since weights, optimizer and schedule do not belong together then. Where
    processes need one another for every iteration (``Strategy.all_stop``), a signal to any of them waits for the end of
    the iteration and ends them all.

    A second signal ends the program as it would without this hook, and nothing more is saved.
    """

    priority = 'VERY_HIGH'

    def __init__(self) -> None:
        self._process = os.getpid()
        self._before: dict[int, Any] = {}
        self._must_wait = self._together = False
        self._signal: Optional[int] = None
        self._since = 0.0  # when it came

    def before_train(self, runner: Runner) -> None:
        """Take over the signals."""
        self._process, self._together, self._signal = os.getpid(), runner.strategy.all_stop, None
        if threading.current_thread() is threading.main_thread():  # the only one that may
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        runner.optim_wrapper.optimizer.register_step_pre_hook(self._wait)

    def release(self) -> None:
        """Give the signals back; the runner calls this however a run ends."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """The iteration before is complete."""
        self._end_wait(runner)

    def before_val_epoch(self, runner: Runner) -> None:
        """The iteration before is complete."""
        self._end_wait(runner)

    def _wait(self, *_: Any) -> None:
        self._must_wait = True

    def _end_wait(self, runner: Runner) -> None:
        self._must_wait = False
        if runner.strategy.any(self._signal is not None):
            raise Stopped('another process' if self._signal is None else signal.Signals(self._signal).name)

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        if os.getpid() != self._process:
            return  # a worker that has inherited this and has not come to ``start_worker`` yet
        if self._signal is None:
            self._signal, self._since = number, time.monotonic()
            if not (self._must_wait or self._together):
                raise Stopped(signal.Signals(number).name)
        elif time.monotonic() - self._since >= SAME_SIGNAL:
            # No ``Stopped``: to save may take all processes, and the others do not know of this one's signal.
            self.release()
            signal.raise_signal(number)
