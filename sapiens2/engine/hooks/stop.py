"""Ctrl-C and SIGTERM end a training run at once, and no finished iteration is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Optional

from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.registry import HOOKS

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """A signal has ended the run; weights, optimizer and schedule are those of the last finished iteration."""


@HOOKS.register_module()
class StopHook(Hook):
    """Turns SIGINT and SIGTERM into ``Stopped``, which the runner answers with a checkpoint.

    A forward or backward pass is broken off: it has changed nothing. From the update of the weights until the hooks of
    that iteration have run, the signal waits, since weights, optimizer and schedule do not belong together then.
    """

    priority = 'VERY_HIGH'

    def __init__(self) -> None:
        self._process = os.getpid()
        self._before: dict[int, Any] = {}
        self._must_wait = False
        self._signal: Optional[int] = None

    def before_train(self, runner: Runner) -> None:
        """Take over the signals. Workers that load data are started later and inherit this."""
        self._process = os.getpid()
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
        self._end_wait()

    def before_val_epoch(self, runner: Runner) -> None:
        """The iteration before is complete."""
        self._end_wait()

    def _wait(self, *_: Any) -> None:
        self._must_wait = True

    def _end_wait(self) -> None:
        self._must_wait = False
        if self._signal is not None:
            raise Stopped(signal.Signals(self._signal).name)

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        if os.getpid() != self._process:
            # A worker: the terminal sends Ctrl-C to it, too, but it ends with the main process; SIGTERM is for itself.
            if number == signal.SIGTERM:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
        elif self._must_wait:
            self._signal = number
        else:
            self.release()  # a second signal ends the program while the checkpoint is written
            raise Stopped(signal.Signals(number).name)
