"""The log of a run: what it works on, then soon, regular, and to the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from mmengine.dist import get_world_size
from mmengine.fileio import dump
from mmengine.hooks import LoggerHook as MMEngineLoggerHook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor
from torch.utils.data import DataLoader

from sapiens2.engine.summary import brief_figures, describe_data, describe_model
from sapiens2.registry import HOOKS
from sapiens2.utils.logging import FILE_ONLY


@HOOKS.register_module()
class LoggerHook(MMEngineLoggerHook):
    """MMEngine's hook of this name, which also says what is trained, and logs the first and the last iteration.

    A large network on a slow machine takes minutes an iteration; without these lines nothing would say that it runs,
    and a run shorter than ``interval`` would leave no trace of its losses. After a resume, the first iteration is the
    first one of the resumed run.

    Figures of single classes go to the log file and to ``scalars.json`` alone: there may be hundreds.

    Args:
        file_only: beginnings of the names of figures of training that the files have and the screen does not.
        kwargs: of MMEngine's hook; ``interval`` counts iterations, which are updates.
    """

    def __init__(self, file_only: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file_only = tuple(file_only)
        self._is_first = True

    def before_train(self, runner: Runner) -> None:
        """Say what is trained and what an iteration is made of, before the first batch is loaded."""
        validates = runner.val_loop is not None
        self._describe(runner, {'training': runner.train_dataloader,
                                'validation': runner.val_dataloader if validates else None})
        self._is_first = True
        loader, counts, processes = runner.train_dataloader, runner.optim_wrapper._accumulative_counts, get_world_size()
        runner.logger.info(
            f'Iterations {runner.iter + 1} to {runner.max_iters}, each of {processes * loader.batch_size * counts} '
            f'samples: {processes} processes x batches of {loader.batch_size} x {counts} accumulated. Loading the '
            f'first batch with {loader.num_workers} workers a process.')

    def before_test(self, runner: Runner) -> None:
        """Say what is measured."""
        self._describe(runner, {'test': runner.test_dataloader})

    def _describe(self, runner: Runner, loaders: Mapping[str, Optional[DataLoader]]) -> None:
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        runner.logger.info(describe_model(model, runner.cfg.get('model') or {}))
        runner.logger.info(describe_data(loaders))

    def after_val_epoch(self, runner: Runner, metrics: Optional[dict[str, float]] = None) -> None:
        """Log the figures."""
        tag, line = runner.log_processor.get_log_after_epoch(runner, len(runner.val_dataloader), 'val')
        runner.logger.info(line, extra=FILE_ONLY)
        runner.logger.info(f'Validation after {runner.iter} iterations: {brief_figures(metrics or {})}')
        runner.visualizer.add_scalars(tag, step=runner.iter, file_path=self.json_log_path)

    def after_test_epoch(self, runner: Runner, metrics: Optional[dict[str, float]] = None) -> None:
        """Write the figures to a file; who asked for the test shows them."""
        tag, line = runner.log_processor.get_log_after_epoch(runner, len(runner.test_dataloader), 'test')
        runner.logger.info(line, extra=FILE_ONLY)
        dump(tag, str(Path(runner.log_dir, self.json_log_path)))

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
            shown = [part for part in line.split('  ') if not part.startswith(self.file_only)]
            runner.logger.info(line, extra={'brief': '  '.join(shown)})
            runner.visualizer.add_scalars(tag, step=batch_idx + 1, file_path=self.json_log_path)
