"""When checkpoints are written, and which are kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from mmengine.dist import is_main_process
from mmengine.hooks import CheckpointHook as MMEngineCheckpointHook
from mmengine.runner import Runner

from sapiens2.registry import HOOKS
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.config import ConfigError

if TYPE_CHECKING:
    from sapiens2.engine.strategies import Strategy


@HOOKS.register_module()
class CheckpointHook(MMEngineCheckpointHook):
    """MMEngine's hook of this name, which removes an old checkpoint only when there are ``max_keep_ckpts`` newer ones.

    MMEngine's removes it before it writes the new one: a run that dies in between has one less, or none. Names are
    those of the strategy: files, or folders of sharded runs. ``last_checkpoint`` names one that is whole.

    The best one of ``save_best`` is MMEngine's affair: it is removed before the next one is written.

    Args:
        kwargs: of MMEngine's hook; ``interval`` counts iterations, which are updates.

    Raises:
        ConfigError: for ``published_keys`` with a strategy that writes folders.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._iterations: list[int] = []
        self._strategy: Optional[Strategy] = None
        self._unnoted: Optional[Path] = None  # a checkpoint that ``last_checkpoint`` does not name yet

    def before_train(self, runner: Runner) -> None:
        """Take over the checkpoints that the run before a resume kept."""
        self._strategy = getattr(runner, 'strategy', None)  # which MMEngine's own runner lacks
        if self._strategy is not None:
            self.filename_tmpl = self._strategy.checkpoint_name
        if self.published_keys is not None and not self.filename_tmpl.endswith('.pth'):
            raise ConfigError('default_hooks.checkpoint: published_keys takes entries out of a file, and this strategy '
                              'writes folders; leave it out, and make a file of weights with `sapiens2 convert`')
        super().before_train(runner)
        if self.max_keep_ckpts > 0:
            self._iterations = list(self.keep_ckpt_ids)

    def after_train(self, runner: Runner) -> None:
        """Wait for the last one to be whole."""
        if self._strategy is not None:
            self._strategy.wait()
        self._finish(runner)
        super().after_train(runner)

    def after_train_iter(self, runner: Runner, *args: Any, **kwargs: Any) -> None:
        """Look after the one that was written meanwhile, and save if it is time."""
        if self._unnoted is not None:
            self._finish(runner)
        super().after_train_iter(runner, *args, **kwargs)

    def _save_checkpoint_with_step(self, runner: Runner, step: int, meta: dict[str, Any]) -> None:
        if self.max_keep_ckpts > 0:
            self._iterations = [number for number in self._iterations if number != step] + [step]
            runner.message_hub.update_info('keep_ckpt_ids', self._iterations[-self.max_keep_ckpts:])
        name = self.filename_tmpl.format(step)
        self.last_ckpt = str(Path(self.out_dir, name))
        runner.message_hub.update_info('last_ckpt', self.last_ckpt)
        runner.save_checkpoint(
            self.out_dir, name, self.file_client_args, save_optimizer=self.save_optimizer,
            save_param_scheduler=self.save_param_scheduler, meta=meta, by_epoch=self.by_epoch,
            backend_args=self.backend_args, **self.args)
        self._unnoted = Path(self.last_ckpt)
        self._finish(runner)

    def _finish(self, runner: Runner) -> None:
        """Note the newest checkpoint and remove old ones, unless it is still being written."""
        if self._unnoted is not None and self._unnoted.exists():
            if is_main_process():
                with atomic_path(Path(runner.work_dir, 'last_checkpoint')) as partial:
                    partial.write_text(str(self._unnoted), encoding='utf-8')
            self._unnoted = None
        self._remove_old()

    def _remove_old(self) -> None:
        """Leave ``max_keep_ckpts`` whole checkpoints; one that is being written is none yet."""
        if self.max_keep_ckpts < 1 or not is_main_process():
            return
        paths = [Path(self.out_dir, self.filename_tmpl.format(number)) for number in self._iterations]
        whole = [path for path in paths if path.exists()]
        for path in whole[:-self.max_keep_ckpts]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
