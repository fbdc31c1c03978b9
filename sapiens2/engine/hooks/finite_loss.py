"""Stops a training run whose loss is no longer a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.registry import HOOKS


@HOOKS.register_module()
class FiniteLossHook(Hook):
    """Raises when a loss is NaN or infinite, and names the samples of that batch.

    Runs before any checkpoint hook, so the last checkpoint still holds good weights.

    Raises:
        FloatingPointError: with the iteration, each loss and the ``sample_id`` of each sample.
    """

    priority = 'VERY_HIGH'

    def after_train_batch(self, runner: Runner, data_batch: Optional[Mapping[str, Any]] = None,
                          outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Look at the losses of one batch (``UpdateTrainLoop`` calls this for each batch of an update)."""
        total = outputs['loss']
        if torch.isfinite(total):
            return
        losses = ', '.join(f'{name} = {float(value):g}' for name, value in outputs.items())
        names = ', '.join(str(sample.get('sample_id', '?')) for sample in data_batch['data_samples'])
        raise FloatingPointError(f'the loss of iteration {runner.iter + 1} is not finite ({losses}); its batch holds: '
                                 f'{names}. Check these samples; if they are right, lower the learning rate or '
                                 'clip_grad.')
