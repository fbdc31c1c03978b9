"""The log of a training run: soon, regular, and to the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from mmengine.dist import get_world_size
from mmengine.hooks import LoggerHook as MMEngineLoggerHook
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.registry import HOOKS


@HOOKS.register_module()
class LoggerHook(MMEngineLoggerHook):
    """MMEngine's hook of this name, which also logs at the start, after the first and after the last iteration.

    A large network on a slow machine takes minutes an iteration; without these lines nothing would say that it runs,
    and a run shorter than ``interval`` would leave no trace of its losses. After a resume, the first iteration is the
    first one of the resumed run.

    Args:
        kwargs: of MMEngine's hook; ``interval`` counts iterations, which are updates.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._is_first = True

    def before_train(self, runner: Runner) -> None:
        """Say what an iteration is made of, before the first batch is loaded."""
        self._is_first = True
        loader, counts, processes = runner.train_dataloader, runner.optim_wrapper._accumulative_counts, get_world_size()
        runner.logger.info(
            f'Iterations {runner.iter + 1} to {runner.max_iters}, each of {processes * loader.batch_size * counts} '
            f'samples: {processes} processes x batches of {loader.batch_size} x {counts} accumulated. Loading the '
            f'first batch with {loader.num_workers} workers a process.')

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """Say that the first batch is there."""
        if self._is_first:
            seconds = runner.message_hub.get_scalar('train/data_time').current()
            runner.logger.info(f'First batch loaded in {seconds:.1f} s; iteration {batch_idx + 1} has begun.')

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Log the first iteration, every ``interval``-th and the last."""
        if self._is_first or self.every_n_inner_iters(batch_idx, self.interval) or batch_idx + 1 == runner.max_iters:
            self._is_first = False
            tag, line = runner.log_processor.get_log_after_iter(runner, batch_idx, 'train')
            runner.logger.info(line)
            runner.visualizer.add_scalars(tag, step=batch_idx + 1, file_path=self.json_log_path)
