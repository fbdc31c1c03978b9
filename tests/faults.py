"""What goes wrong on real machines; a run imports this (``custom_imports``) and names a hook."""

from __future__ import annotations

import errno
import os
import signal
from typing import Any, NoReturn

from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.engine.strategies import shard_writer
from sapiens2.registry import HOOKS


def fail(how: str) -> NoReturn:
    if how == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@HOOKS.register_module()
class FaultHook(Hook):
    """Lets one process be killed, or meet a full disk.

    Args:
        rank: the process.
        after: iterations that it finishes before.
        how: 'kill' or 'full'.
        saving: in the middle of the checkpoint after that iteration, rather than in the iteration that follows.
        once: not after a launcher has started the processes again.
    """

    priority = 'VERY_HIGH'

    def __init__(self, rank: int, after: int, how: str = 'kill', saving: bool = False, once: bool = False) -> None:
        self.rank, self.after, self.how, self.saving = rank, after, how, saving
        if once and int(os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)):
            self.rank = -1

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        if get_rank() == self.rank and batch_idx == self.after and not self.saving:
            fail(self.how)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        if get_rank() == self.rank and batch_idx + 1 == self.after and self.saving:
            shard_writer.write_safetensors = lambda *args, **kwargs: fail(self.how)
