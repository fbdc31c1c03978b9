"""MMEngine's runner with safe checkpoints, exact resuming, and distributed training on CPUs too."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, Union

import mmengine
import torch
from mmengine.device import get_device
from mmengine.dist import is_distributed, master_only
from mmengine.model import is_model_wrapper
from mmengine.optim import OptimWrapper, _ParamScheduler
from mmengine.runner import Runner
from torch import Tensor, distributed, nn

from sapiens2.engine.checkpoints import (TRAINING_WEIGHTS, holds_backbone_alone, latest_checkpoint, put_back,
                                         read_training_state, write_training_state)
from sapiens2.engine.fine_tuning import FineTuning
from sapiens2.engine.hooks.ema import EMAHook
from sapiens2.engine.hooks.stop import StopHook, Stopped
from sapiens2.engine.plain import pack_message_hub, unpack_message_hub
from sapiens2.models.checkpoints import CheckpointError, load_checkpoint
from sapiens2.registry import FINE_TUNING, RUNNERS
from sapiens2.version import __version__


def is_of_use(record: logging.LogRecord) -> bool:
    """False for two warnings about parts of MMEngine which MMEngine's own hook for checkpoints makes and never uses."""
    return '"FileClient" will be deprecated' not in str(record.msg) and '"HardDiskBackend" is' not in str(record.msg)


@RUNNERS.register_module()
class Sapiens2Runner(Runner):
    """Differs from MMEngine's ``Runner`` in these points:

    * Checkpoints hold tensors and plain values alone: ``torch.load(weights_only=True)`` reads them. They are written
      whole or not at all. Those of MMEngine's runner are read through an allow list; nothing runs code.
    * ``load_from`` takes every format of ``sapiens2.models.checkpoints``, and is strict: a checkpoint that does not fit
      is an error. Only training may start from a backbone alone.
    * A resumed run continues an unbroken one exactly (see ``UpdateTrainLoop``).
    * ``state_dict`` of a checkpoint is what validation measured, and fits the model that the config describes: averages
      of an ``EMAHook`` are in it, and adapters of ``fine_tuning`` are added in. What training alone needs lies beside.
    * Ctrl-C and SIGTERM save the last finished iteration (``StopHook``).
    * Schedules of the learning rate end as torch's do.
    * Without an accelerator, distributed training uses gloo.
    """

    _is_training = False
    _fine_tuning: Optional[FineTuning] = None
    _started_from: Optional[str] = None

    def setup_env(self, env_cfg: dict) -> None:
        """See MMEngine. Starts gloo itself where there is no GPU, since MMEngine would select a CUDA device."""
        if self.launcher == 'pytorch' and not is_distributed() and not torch.cuda.is_available():
            distributed.init_process_group('gloo')
        super().setup_env(env_cfg)

    def wrap_model(self, model_wrapper_cfg: Optional[dict], model: nn.Module) -> nn.Module:
        """See MMEngine. A model on the CPU is wrapped without device ids."""
        if self.distributed and not is_model_wrapper(model) and get_device() == 'cpu':
            model_wrapper_cfg = dict(broadcast_buffers=False, device_ids=None, **(model_wrapper_cfg or {}))
        return super().wrap_model(model_wrapper_cfg, model)

    @property
    def bare_model(self) -> nn.Module:
        """The model without its distributed wrapper."""
        return self.model.module if is_model_wrapper(self.model) else self.model

    def trained_parameters(self) -> dict[str, nn.Parameter]:
        """The parameters that are trained, by their names in ``bare_model``."""
        return {name: parameter for name, parameter in self.bare_model.named_parameters() if parameter.requires_grad}

    def weights_for_use(self) -> dict[str, Tensor]:
        """The state dict of the model that the config describes; what fine-tuning has put in is part of its weights."""
        model = self.bare_model
        return dict(model.state_dict()) if self._fine_tuning is None else self._fine_tuning.weights_for_use(model)

    def _weight_entries(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint holds of the model: the weights for use, and what training needs besides."""
        for hook in self.hooks:
            if isinstance(hook, EMAHook):
                return hook.weight_entries(self)
        weights = self.weights_for_use()
        return {'state_dict': weights,
                TRAINING_WEIGHTS: {name: parameter.detach() for name, parameter in self.trained_parameters().items()
                                   if name not in weights}}

    def build_logger(self, *args: Any, **kwargs: Any) -> logging.Logger:
        """See MMEngine; without two of its warnings."""
        logger = super().build_logger(*args, **kwargs)
        logger.addFilter(is_of_use)
        return logger

    def train(self) -> nn.Module:
        """Train; returns the model. A run that resumes takes over the seed, before data and model are built from it.

        Raises:
            Stopped: at a signal to end; a checkpoint of the last finished iteration has been written then.
        """
        self._is_training = True
        if self._resume and self._load_from is None:
            latest = latest_checkpoint(self.work_dir)
            if latest is None:
                self.logger.info(f'Nothing to resume in {self.work_dir}: starting at iteration 0.')
                self._resume = False
            else:
                self._load_from = str(latest)
        self._started_from = None if self._load_from is None else os.path.abspath(self._load_from)
        if self._resume:
            meta = read_training_state(self._load_from)['meta']
            self._started_from = self.cfg.get('started_from') or meta.get('started_from')
            seed = meta.get('seed')
            if seed is not None and seed != self.seed:
                self.logger.warning(f'The run goes on with the seed {seed} of {self._load_from}, not {self.seed}.')
                self.set_randomness(**{**self._randomness_cfg, 'seed': seed})
        if self.cfg.get('fine_tuning'):
            self._prepare_fine_tuning(FINE_TUNING.build(self.cfg.fine_tuning))
        if not any(isinstance(hook, StopHook) for hook in self.hooks):
            self.register_hook(StopHook())
        try:
            return super().train()
        except Stopped as stop:
            self._save_stopped(str(stop))
            raise
        finally:
            for hook in self.hooks:
                if isinstance(hook, StopHook):
                    hook.release()

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
            super()._init_model_weights()

    def _save_stopped(self, signal_name: str) -> None:
        """Save the last finished iteration, unless there is a checkpoint of it."""
        done, path = self.iter, Path(self.work_dir, f'iter_{self.iter}.pth')
        if not done:
            self.logger.warning(f'{signal_name}: stopped before an iteration was finished; nothing to save.')
            return
        if not path.exists():
            kept = self.message_hub.runtime_info.get('keep_ckpt_ids')
            if kept is not None:
                self.message_hub.update_info('keep_ckpt_ids', [*kept, done])
            self.save_checkpoint(self.work_dir, path.name, meta=dict(iter=done))
        self.logger.warning(f'{signal_name}: stopped. {done} iterations are saved in {path}. To go on, give the same '
                            'command with --resume.')

    def _build_param_scheduler(self, scheduler: Any, optim_wrapper: OptimWrapper) -> list[_ParamScheduler]:
        """See MMEngine. Schedules that begin after the last iteration are left out, so that short trials run.

        A schedule without ``end`` arrives at its end one iteration after the last one, as with torch's schedulers.
        MMEngine's arrive in the last one: of a decay to zero, that iteration would change nothing.
        """
        schedulers = list(scheduler) if isinstance(scheduler, (list, tuple)) else [scheduler]
        return super()._build_param_scheduler(
            [{'end': self.max_iters + 1, **item} if isinstance(item, dict) else item for item in schedulers
             if not isinstance(item, dict) or item.get('begin', 0) < self.max_iters], optim_wrapper)

    def load_checkpoint(self, filename: str, map_location: Union[str, Callable] = 'cpu', strict: bool = True,
                        revise_keys: Any = ()) -> None:
        """Fill the model with the weights of ``filename`` (any format of ``sapiens2.models.checkpoints``).

        Args:
            filename: file or folder.
            map_location, revise_keys: MMEngine's; tensors go straight to the parameters, and prefixes are known.
            strict: whether every parameter must be filled and every tensor used. A run that trains may start from a
                backbone alone; its decoder then keeps its initial values.

        Raises:
            CheckpointError: if the file is no usable checkpoint or does not fit.
        """
        if self._is_training and holds_backbone_alone(self.bare_model, filename):
            self.logger.info(f'{filename} holds a backbone alone: the other layers keep their initial values.')
            strict = False
        load_checkpoint(self.bare_model, filename, strict=strict)
        self._has_loaded = True

    def resume(self, filename: str, resume_optimizer: bool = True, resume_param_scheduler: bool = True,
               map_location: Union[str, Callable] = 'cpu') -> None:
        """Go on from a checkpoint of this runner or of MMEngine's.

        Args:
            filename: the checkpoint.
            resume_optimizer: whether to restore the optimizer.
            resume_param_scheduler: whether to restore the schedules.
            map_location: not used.

        Raises:
            CheckpointError: if the file is no checkpoint of a training run, or does not fit the model.
        """
        checkpoint = read_training_state(filename)
        self.call_hook('after_load_checkpoint', checkpoint=checkpoint)
        base = None if self._fine_tuning is None else self._started_from or 'those of this seed'
        put_back(self.bare_model, checkpoint, filename, self.weights_for_use, base)
        self._has_loaded = True
        meta = checkpoint['meta']
        self.train_loop.resume(meta['iter'], meta.get('samples'))
        unpack_message_hub(self.message_hub, checkpoint['message_hub'])
        if resume_optimizer:
            self.optim_wrapper.load_state_dict(checkpoint['optimizer'])
        if resume_param_scheduler:
            schedulers, states = self.param_schedulers or (), checkpoint['param_schedulers']
            if len(schedulers) != len(states):
                raise CheckpointError(f'{filename} holds {len(states)} learning-rate schedules and the config '
                                      f'{len(schedulers)}: param_scheduler or train_cfg.max_iters has changed. Resume '
                                      'with those of that run, or start a new run with load_from.')
            for scheduler, state in zip(schedulers, states):
                scheduler.load_state_dict(state)
        self.logger.info(f'Resumed {filename}: {meta["iter"]} iterations are done.')

    @master_only
    def save_checkpoint(self, out_dir: str, filename: str, file_client_args: Optional[dict] = None,
                        save_optimizer: bool = True, save_param_scheduler: bool = True, meta: Optional[dict] = None,
                        by_epoch: bool = False, backend_args: Optional[dict] = None) -> None:
        """Write a checkpoint of plain values.

        Args:
            out_dir, filename: where; a local folder.
            file_client_args, backend_args: MMEngine's remote storage, which is not supported.
            save_optimizer: whether a run can be resumed from it.
            save_param_scheduler: whether to save the schedules.
            meta: more entries of ``meta``; ``iter`` says how many iterations are done.
            by_epoch: must be False.

        Raises:
            ValueError: for remote storage, or saving by epoch.
            TypeError: if a hook has added something that is not plain.
        """
        if file_client_args or backend_args or by_epoch:
            raise ValueError('default_hooks.checkpoint: checkpoints are saved by iteration to a local folder; set '
                             'by_epoch=False and take backend_args and file_client_args out')
        meta = {'iter': self.iter + 1, 'epoch': 0, **(meta or {})}
        meta.update(cfg=self.cfg.pretty_text, seed=self.seed, samples=self.train_loop.samples,
                    started_from=self._started_from, experiment_name=self.experiment_name,
                    time=time.strftime('%Y%m%d_%H%M%S'), mmengine_version=mmengine.__version__,
                    sapiens2_version=__version__, dataset_meta=getattr(self.train_dataloader.dataset, 'metainfo', None))
        checkpoint = {'meta': meta, 'message_hub': pack_message_hub(self.message_hub), **self._weight_entries()}
        if save_optimizer:
            checkpoint['optimizer'] = self.optim_wrapper.state_dict()
        if save_param_scheduler:
            checkpoint['param_schedulers'] = [scheduler.state_dict() for scheduler in self.param_schedulers or ()]
        self.call_hook('before_save_checkpoint', checkpoint=checkpoint)
        write_training_state(checkpoint, Path(out_dir, filename))
