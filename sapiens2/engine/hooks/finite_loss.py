"""Stops a training run whose loss or gradient is no longer a number, before the weights are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.optim import Optimizer

from sapiens2.datasets.errors import DataError
from sapiens2.registry import HOOKS
from sapiens2.structures.names import sample_name


@HOOKS.register_module()
class FiniteLossHook(Hook):
    """Raises when a loss or the norm of the gradient is NaN or infinite, and names the samples of that update.

    Both are looked at before the update, so the weights stay good.

    Raises:
        NotFiniteError: with the iteration, the values and the ``sample_id`` of each sample.
    """

    priority = 'VERY_HIGH'

    def __init__(self) -> None:
        self._runner: Optional[Runner] = None
        self._names: list[str] = []

    def before_train(self, runner: Runner) -> None:
        """Watch what the model is given and what the optimizer is about to do."""
        self._runner = runner
        runner.bare_model.register_forward_hook(self._check_losses, with_kwargs=True)
        runner.optim_wrapper.optimizer.register_step_pre_hook(self._check_gradient)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """Forget the samples of the update before."""
        self._names = []

    def _check_losses(self, model: BaseModel, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """Called with what the model gives for each batch."""
        if not model.training or kwargs.get('mode') != 'loss':
            return
        samples = kwargs.get('data_samples') or ()
        names = [sample_name(sample, index) for index, sample in enumerate(samples)]
        self._names += names
        losses = [value for name, item in output.items() if 'loss' in name  # as MMEngine tells them from other numbers
                  for value in (item if isinstance(item, (list, tuple)) else [item])]
        if not torch.cat([value.detach().flatten() for value in losses]).isfinite().all():
            _, values = model.parse_losses(output)
            text = ', '.join(f'{name} = {float(value.detach()):g}' for name, value in values.items())
            raise NotFiniteError(f'the loss of iteration {self._runner.iter + 1} is not finite ({text})', names)

    def _check_gradient(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Called by the optimizer before an update."""
        runner = self._runner
        if runner.optim_wrapper.clip_grad_kwargs and 'train/grad_norm' in runner.message_hub.log_scalars:
            norm = float(runner.message_hub.get_scalar('train/grad_norm').current())
        else:
            norm = float(torch.nn.utils.get_total_norm(
                [parameter.grad for group in optimizer.param_groups for parameter in group['params']
                 if parameter.grad is not None]))
        if not math.isfinite(norm):
            raise NotFiniteError(f'the gradient of iteration {runner.iter + 1} is not finite (norm = {norm:g}), though '
                                 'its loss is', self._names)


class NotFiniteError(DataError, FloatingPointError):
    """A loss or gradient that is not finite, and the samples that it comes from."""

    def __init__(self, fault: str, names: list[str]) -> None:
        super().__init__(f'{fault}; its batch holds: {", ".join(names)}. Check these samples; if they are right, lower '
                         'the learning rate or clip_grad.')
