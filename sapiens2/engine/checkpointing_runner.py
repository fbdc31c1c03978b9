"""MMEngine's runner with checkpoints that are safe to read and enough to go on exactly."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Optional, Union

import mmengine
from mmengine.dist import get_world_size, is_main_process
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn

from sapiens2.engine.checkpoints import TRAINING_WEIGHTS, holds_backbone_alone, put_back
from sapiens2.engine.config_changes import config_changes
from sapiens2.engine.fine_tuning import FineTuning
from sapiens2.engine.hooks.ema import EMAHook
from sapiens2.engine.plain import pack_message_hub, unpack_message_hub
from sapiens2.engine.strategies import Strategy
from sapiens2.models.checkpoints import CheckpointError, open_checkpoint
from sapiens2.models.checkpoints.load import match
from sapiens2.registry import STRATEGIES
from sapiens2.version import __version__


class CheckpointingRunner(Runner):
    """Differs from MMEngine's ``Runner`` in what it reads and writes:

    * Checkpoints hold tensors and plain values alone: ``torch.load(weights_only=True)`` reads them. They are written
      whole or not at all. Those of MMEngine's runner are read through an allow list; nothing runs code.
    * ``load_from`` takes every format of ``sapiens2.models.checkpoints``, and is strict: a checkpoint that does not fit
      is an error. Only training may start from a backbone alone.
    * ``state_dict`` of a checkpoint is what validation measured, and fits the model that the config describes: averages
      of an ``EMAHook`` are in it, and adapters of ``fine_tuning`` are added in. What training alone needs lies beside.
    """

    _is_training = False
    _fine_tuning: Optional[FineTuning] = None
    _started_from: Optional[str] = None  # weights that the run, or the one that it goes on with, began with
    _config_text = ''  # of a training run, formatted before it starts

    @cached_property
    def strategy(self) -> Strategy:
        """How the model is spread over processes."""
        return STRATEGIES.build(self.cfg.get('strategy') or dict(type='DataParallel'))

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
        self.strategy.load(self.bare_model, filename, strict)
        self._has_loaded = True

    def fills_all_weights(self) -> bool:
        """Whether the run reads values for all of its model from a file."""
        if self._load_from is None or self._resume:
            return self._load_from is not None
        target = self.bare_model.state_dict()
        return not match(target, *open_checkpoint(self._load_from, like=target))[0].missing

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
        checkpoint = self.strategy.read(self, filename)
        self.call_hook('after_load_checkpoint', checkpoint=checkpoint)
        base = None if self._fine_tuning is None else self._started_from or 'those of this seed'
        put_back(self.bare_model, checkpoint, filename, self.weights_for_use, base)
        self._has_loaded = True
        meta = checkpoint['meta']
        self.train_loop.resume(meta['iter'], meta.get('samples'))
        unpack_message_hub(self.message_hub, checkpoint['message_hub'])
        if resume_optimizer:
            try:
                self.optim_wrapper.load_state_dict(checkpoint['optimizer'])
            except (ValueError, KeyError) as error:
                raise CheckpointError(f'{filename} cannot be resumed: the state of its optimizer is of other parameter '
                                      f'groups or of another optimizer than that of the config ({error}). Resume with '
                                      'optim_wrapper of that run, or start a new run with load_from.') from error
        if resume_param_scheduler:
            schedulers, states = self.param_schedulers or (), checkpoint['param_schedulers']
            if len(schedulers) != len(states):
                raise CheckpointError(f'{filename} holds {len(states)} learning-rate schedules and the config '
                                      f'{len(schedulers)}: param_scheduler or train_cfg.max_iters has changed. Resume '
                                      'with those of that run, or start a new run with load_from.')
            for scheduler, state in zip(schedulers, states):
                scheduler.load_state_dict(state)
        changes = config_changes(str(meta.get('cfg', '')), self._config_text or self.cfg.pretty_text)
        if changes:
            lines = ''.join(f'\n  {line}' for line in changes)
            self.logger.warning(f'The config is not that of the checkpoint:{lines}')
        self._compare_batches(meta.get('samples_per_iter'))
        self.logger.info(f'Resumed {filename}: {meta["iter"]} iterations are done.')

    def _compare_batches(self, before: Optional[int]) -> None:
        """Warn if an update is made of other than ``before`` samples: another number of processes, for instance."""
        loop = self.train_loop
        now, batch, counts = loop.samples_per_iter, loop.dataloader.batch_size, loop.accumulative_counts
        if before in (None, now):
            return
        remedies = [f'{entry}={value * before // now}' for entry, value in (
            ('train_dataloader.batch_size', batch), ('optim_wrapper.accumulative_counts', counts))
            if value * before % now == 0]
        self.logger.warning(
            f'An update is made of {now} samples now ({get_world_size()} processes x batches of {batch} x {counts} '
            f'accumulated), and was made of {before} before; learning rate and iterations stay those of {before}. To '
            f'keep {before}, ' + (f'set {" or ".join(remedies)}.' if remedies else
                                  'take the processes, batch_size and accumulative_counts of that run.'))

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
        if not (self.strategy.all_write or is_main_process()):
            return
        meta = {'iter': self.iter + 1, 'epoch': 0, **(meta or {})}
        meta.update(cfg=self._config_text or self.cfg.pretty_text, seed=self.seed, samples=self.train_loop.samples,
                    samples_per_iter=self.train_loop.samples_per_iter, started_from=self._started_from,
                    experiment_name=self.experiment_name,
                    fine_tuning=self._fine_tuning and self._fine_tuning.description(),
                    time=time.strftime('%Y%m%d_%H%M%S'), mmengine_version=mmengine.__version__,
                    sapiens2_version=__version__, dataset_meta=getattr(self.train_dataloader.dataset, 'metainfo', None))
        checkpoint = {'meta': meta, 'message_hub': pack_message_hub(self.message_hub), **self._weight_entries()}
        if save_optimizer:
            checkpoint['optimizer'] = self.optim_wrapper.state_dict()
        if save_param_scheduler:
            checkpoint['param_schedulers'] = [scheduler.state_dict() for scheduler in self.param_schedulers or ()]
        self.call_hook('before_save_checkpoint', checkpoint=checkpoint)
        self.strategy.write(self, checkpoint, Path(out_dir, filename))
