"""MMEngine's runner with safe checkpoints, exact resuming, and distributed training on CPUs too."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Optional

import torch
from mmengine.dist import is_distributed
from mmengine.logging import MMLogger
from mmengine.optim import OptimWrapper, _ParamScheduler
from mmengine.runner import Runner
from torch import distributed, nn
from torch.utils.data import DataLoader

from sapiens2.engine.checkpointing_runner import CheckpointingRunner
from sapiens2.engine.checkpoints import AUTO, check_fine_tuning, checkpoints_in, latest_checkpoint, read_meta
from sapiens2.engine.fine_tuning import FineTuning
from sapiens2.engine.full_disk import error_comes_last
from sapiens2.engine.hooks.stop import StopHook, Stopped, start_worker
from sapiens2.engine.work_dir_lock import only_run_in
from sapiens2.models.checkpoints import CheckpointError
from sapiens2.registry import FINE_TUNING, FUNCTIONS, RUNNERS
from sapiens2.utils.config import ConfigError
from sapiens2.utils.console import shorten_console
from sapiens2.utils.logging import FILE_ONLY


@RUNNERS.register_module()
class Sapiens2Runner(CheckpointingRunner):
    """Differs from MMEngine's ``Runner`` in its checkpoints (see ``CheckpointingRunner``) and in these points:

    * A resumed run continues an unbroken one exactly (see ``UpdateTrainLoop``). ``resume='auto'`` of the config goes on
      from the newest checkpoint that can be used, or starts as ``load_from`` says if there is none.
    * Ctrl-C and SIGTERM save the last finished iteration (``StopHook``).
    * Schedules of the learning rate end as torch's do.
    * Without an accelerator, distributed training uses gloo.
    * ``strategy`` of the config says how the model is spread over processes.
    * The screen shows a short log, on the error stream; the log file has all of it.
    """

    def setup_env(self, env_cfg: dict) -> None:
        """See MMEngine. Starts gloo itself where there is no GPU, since MMEngine would select a CUDA device."""
        if self.launcher == 'pytorch' and not is_distributed() and not torch.cuda.is_available():
            distributed.init_process_group('gloo')
        super().setup_env(env_cfg)

    def build_model(self, model: Any) -> nn.Module:
        """See ``Strategy``."""
        return self.strategy.build(self, model)

    def wrap_model(self, model_wrapper_cfg: Optional[dict], model: nn.Module) -> nn.Module:
        """See ``Strategy``, which takes ``model_wrapper_cfg`` from the config."""
        return self.strategy.wrap(self, model)

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        """See MMEngine; with a short log on the screen, which begins with where the long one is."""
        logger = super().build_logger(*args, **{'logger_name': 'sapiens2', **kwargs})
        shorten_console(logger)
        logger.info(f'Log: {logger.log_file}')
        return logger

    def build_optim_wrapper(self, optim_wrapper: Any) -> Any:
        """See MMEngine.

        Raises:
            ConfigError: if an optimizer refuses the type of an argument.
        """
        try:
            return super().build_optim_wrapper(optim_wrapper)
        except TypeError as error:
            raise ConfigError(f'optim_wrapper: cannot be built, {error}') from error

    @staticmethod
    def build_dataloader(dataloader: Any, *args: Any, **kwargs: Any) -> DataLoader:
        """See MMEngine; with workers that leave signals to the main process, and ``collate_fn`` of this project."""
        collate = dataloader.get('collate_fn') if isinstance(dataloader, dict) else None
        if isinstance(collate, dict) and isinstance(collate.get('type'), str):
            dataloader = {**dataloader, 'collate_fn': {**collate, 'type': FUNCTIONS.get(collate['type'])}}
        loader = Runner.build_dataloader(dataloader, *args, **kwargs)
        loader.worker_init_fn = partial(start_worker, then=loader.worker_init_fn)
        return loader

    def train(self) -> nn.Module:
        """Train; returns the model. A run that resumes takes over the seed, before data and model are built from it.

        Raises:
            ConfigError: if another run is writing to the work directory.
            Stopped: at a signal to end; a checkpoint of the last finished iteration has been written then.
        """
        with only_run_in(self.work_dir, self.logger), error_comes_last(self.visualizer):
            return self._train_alone()

    def _train_alone(self) -> nn.Module:
        self._is_training = True
        # A signal to end leaves no time for formatting.
        self._config_text = self.cfg.pretty_text
        self._find_checkpoint()
        fine_tuning = FINE_TUNING.build(self.cfg.fine_tuning) if self.cfg.get('fine_tuning') else None
        self._started_from = None if self._load_from is None else os.path.abspath(self._load_from)
        if self._load_from is None:
            self.logger.info('Weights: initial values of the config (load_from is not set).')
        if self._resume:
            meta = self.strategy.agree(lambda: read_meta(self._load_from))
            check_fine_tuning(self._load_from, meta, fine_tuning and fine_tuning.description())
            self._started_from = self.cfg.get('started_from') or meta.get('started_from')
            seed = meta.get('seed')
            if seed is not None and seed != self.seed:
                self.logger.warning(f'The run goes on with the seed {seed} of {self._load_from}, not {self.seed}.')
                self.set_randomness(**{**self._randomness_cfg, 'seed': seed})
        if fine_tuning is not None:
            self.strategy.check_fine_tuning(fine_tuning)
            self._prepare_fine_tuning(fine_tuning)
        if not any(isinstance(hook, StopHook) for hook in self.hooks):
            self.register_hook(StopHook())
        try:
            model = super().train()
            self.strategy.wait()
            return model
        except Stopped as stop:
            text = self._save_stopped(str(stop))
            self.logger.warning(text, extra=FILE_ONLY)  # who catches this shows it
            raise Stopped(text) from None
        finally:
            for hook in self.hooks:
                if isinstance(hook, StopHook):
                    hook.release()

    def _find_checkpoint(self) -> None:
        """Settle what a run starts from, where the config does not name it, and read it against its checksums."""
        if self._resume == AUTO or self._resume and self._load_from is None:
            self._find_latest()
        elif self._resume:
            self.strategy.check(Path(self._load_from))
        if self._load_from is not None and not self._resume:
            self.strategy.compare(Path(self._load_from))

    def _find_latest(self) -> None:
        found = self.strategy.agree(lambda: checkpoints_in(self.work_dir))
        latest = latest_checkpoint(self.work_dir, self.logger.warning, self.strategy.check, found)
        if latest is None:
            self.logger.info(f'Nothing to resume in {self.work_dir}: starting at iteration 0.')
            self._resume = False
        else:
            self.cfg.started_from = self._load_from  # what is frozen comes from there
            self._load_from, self._resume = str(latest), True

    def _prepare_fine_tuning(self, fine_tuning: FineTuning) -> None:
        """Freeze and add parameters. They have to be there before the optimizer, and weights are loaded before them."""
        self._init_model_weights()
        if self._started_from is None:
            self.logger.warning('fine_tuning without load_from: what is frozen has random weights.')
        elif not os.path.exists(self._started_from):
            raise CheckpointError(f'this run was started from the weights {self._started_from!r}, which are gone: put '
                                  'them back, or say where they are with --cfg-options load_from=PATH')
        else:
            self.load_checkpoint(self._started_from)
        self._has_loaded = not self._resume
        model = self.bare_model
        fine_tuning.prepare(model)
        self._fine_tuning = fine_tuning
        if self.distributed:  # a wrapper knows the parameters that there were when it was made
            self.model = self.wrap_model(self.cfg.get('model_wrapper_cfg'), model)

    def _init_model_weights(self) -> None:
        """See MMEngine. Weights that are frozen already have their values."""
        if self._fine_tuning is None:
            self.strategy.initialise(self)

    def _save_stopped(self, signal_name: str) -> str:
        """Save the last finished iteration; returns what is to be said to people."""
        done = self.iter
        if not done:
            return f'{signal_name}: stopped before an iteration was finished; nothing to save.'
        name = self.strategy.checkpoint_name.format(done)
        kept = self.message_hub.runtime_info.get('keep_ckpt_ids')
        if kept is not None and done not in kept:
            self.message_hub.update_info('keep_ckpt_ids', [*kept, done])
        self.save_checkpoint(self.work_dir, name, meta=dict(iter=done))
        self.strategy.wait()
        return (f'{signal_name}: stopped. {done} iterations are saved in {Path(self.work_dir, name)}. To go on, give '
                'the same command with --resume.')

    def _build_param_scheduler(self, scheduler: Any, optim_wrapper: OptimWrapper) -> list[_ParamScheduler]:
        """See MMEngine. Schedules that begin after the last iteration are left out, so that short trials run.

        A schedule without ``end`` arrives at its end one iteration after the last one, as with torch's schedulers.
        MMEngine's arrive in the last one: of a decay to zero, that iteration would change nothing.
        """
        schedulers = list(scheduler) if isinstance(scheduler, (list, tuple)) else [scheduler]
        return super()._build_param_scheduler(
            [{'end': self.max_iters + 1, **item} if isinstance(item, dict) else item for item in schedulers
             if not isinstance(item, dict) or item.get('begin', 0) < self.max_iters], optim_wrapper)
