"""MMEngine's runner with safe checkpoints, exact resuming, and distributed training on CPUs too."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Optional, Union

import mmengine
import torch
from mmengine.device import get_device
from mmengine.dist import is_distributed, master_only
from mmengine.model import is_model_wrapper
from mmengine.optim import OptimWrapper, _ParamScheduler
from mmengine.runner import BaseLoop, Runner
from torch import distributed, nn

from sapiens2.engine.plain import pack_message_hub, plain, unpack_message_hub
from sapiens2.models.checkpoints import CheckpointError, load_checkpoint, load_pickle, open_checkpoint
from sapiens2.models.checkpoints.load import match
from sapiens2.registry import RUNNERS
from sapiens2.utils.atomic import atomic_path
from sapiens2.version import __version__

STATE_KEYS = ('state_dict', 'optimizer', 'param_schedulers', 'message_hub', 'meta')


def latest_checkpoint(work_dir: Union[str, Path]) -> Optional[Path]:
    """The checkpoint with most iterations in ``work_dir``, None if there is none.

    Checkpoints are written whole or not at all, so the newest file is good even after a crash, and the folder may have
    been moved since (MMEngine's ``last_checkpoint`` holds an absolute path).
    """
    found = {int(match[1]): file for file in Path(work_dir).glob('iter_*.pth')
             if (match := re.fullmatch(r'iter_(\d+)\.pth', file.name))}
    return found[max(found)] if found else None


def read_training_state(filename: Union[str, Path]) -> Mapping[str, Any]:
    """A checkpoint of a training run, read into memory: the optimizer keeps tensors of a file that may be replaced.

    Raises:
        CheckpointError: if the file is no checkpoint, or holds weights alone.
    """
    checkpoint = load_pickle(Path(filename), mmap=False)
    missing = [key for key in STATE_KEYS if not isinstance(checkpoint, Mapping) or key not in checkpoint]
    if missing:
        raise CheckpointError(f'{filename} holds no {", ".join(missing)}: it is no checkpoint of a training run. To '
                              'start a new run from its weights, set load_from instead of resume.')
    if not isinstance(checkpoint['meta'], Mapping) or not isinstance(checkpoint['meta'].get('iter'), int):
        raise CheckpointError(f"{filename}: meta lacks 'iter', the number of iterations that are done; the file is "
                              'damaged or of another program')
    return checkpoint


def holds_backbone_alone(model: nn.Module, filename: Union[str, Path]) -> bool:
    """Whether ``filename`` fits all of ``model.backbone`` and nothing else of the model, and holds nothing else."""
    target = model.state_dict()
    report, _ = match(target, *open_checkpoint(filename, like=target))
    outside = [name for name in target if not name.startswith('backbone.')]
    return sorted(report.missing) == sorted(outside) and not (report.unexpected or report.misshapen)


@RUNNERS.register_module()
class Sapiens2Runner(Runner):
    """Differs from MMEngine's ``Runner`` in these points:

    * Checkpoints hold tensors and plain values alone: ``torch.load(weights_only=True)`` reads them. They are written
      whole or not at all. Those of MMEngine's runner are read through an allow list; nothing runs code.
    * ``load_from`` takes every format of ``sapiens2.models.checkpoints``, and is strict: a checkpoint that does not fit
      is an error. Only training may start from a backbone alone.
    * A resumed run continues an unbroken one exactly (see ``UpdateTrainLoop``).
    * Without an accelerator, distributed training uses gloo.
    """

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

    def train(self) -> nn.Module:
        """Train; returns the model. A run that resumes takes over the seed, before data and model are built from it."""
        if self._resume and self._load_from is None:
            latest = latest_checkpoint(self.work_dir)
            if latest is None:
                self.logger.info(f'Nothing to resume in {self.work_dir}: starting at iteration 0.')
                self._resume = False
            else:
                self._load_from = str(latest)
        if self._resume:
            seed = read_training_state(self._load_from)['meta'].get('seed')
            if seed is not None and seed != self.seed:
                self.logger.warning(f'The run goes on with the seed {seed} of {self._load_from}, not {self.seed}.')
                self.set_randomness(**{**self._randomness_cfg, 'seed': seed})
        return super().train()

    def _build_param_scheduler(self, scheduler: Any, optim_wrapper: OptimWrapper) -> list[_ParamScheduler]:
        """See MMEngine. Schedules that begin after the last iteration are left out, so that short trials run."""
        schedulers = list(scheduler) if isinstance(scheduler, (list, tuple)) else [scheduler]
        return super()._build_param_scheduler(
            [item for item in schedulers if not isinstance(item, dict) or item.get('begin', 0) < self.max_iters],
            optim_wrapper)

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
        if isinstance(self._train_loop, BaseLoop) and holds_backbone_alone(self.bare_model, filename):
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
        try:
            self.bare_model.load_state_dict(checkpoint['state_dict'])
        except RuntimeError as error:
            raise CheckpointError(f'{filename} cannot be resumed with this model. {error}') from error
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
                    experiment_name=self.experiment_name, time=time.strftime('%Y%m%d_%H%M%S'),
                    mmengine_version=mmengine.__version__, sapiens2_version=__version__,
                    dataset_meta=getattr(self.train_dataloader.dataset, 'metainfo', None))
        checkpoint: dict[str, Any] = {'meta': meta, 'state_dict': dict(self.bare_model.state_dict()),
                                      'message_hub': pack_message_hub(self.message_hub)}
        if save_optimizer:
            checkpoint['optimizer'] = self.optim_wrapper.state_dict()
        if save_param_scheduler:
            checkpoint['param_schedulers'] = [scheduler.state_dict() for scheduler in self.param_schedulers or ()]
        self.call_hook('before_save_checkpoint', checkpoint=checkpoint)
        values, path = plain(checkpoint, 'checkpoint'), os.path.join(out_dir, filename)
        try:
            with atomic_path(path) as partial:
                torch.save(values, partial)
        except RuntimeError as error:  # torch's word for what the system refuses, a full disk above all
            raise OSError(f'{path} cannot be written: is the disk full? Checkpoints written before are unharmed. '
                          f'({error})') from error
