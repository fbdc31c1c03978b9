"""Exponential moving average of the weights (Polyak and Juditsky, 1992)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from sapiens2.engine.checkpoints import AVERAGED_WEIGHTS, TRAINING_WEIGHTS
from sapiens2.registry import HOOKS
from sapiens2.utils.own_part import own_part


@HOOKS.register_module()
class EMAHook(Hook):
    """Validates and saves the average of the weights, while training goes on with the weights themselves.

    Differs from MMEngine's hook of this name: the average starts from the weights that training starts from (loaded
    ones included, where MMEngine's starts from random ones), only trained parameters are kept twice, and a short run is
    not held at its start: until ``momentum`` is reached, the average is the plain mean of the start and all updates.
    ``state_dict`` of a checkpoint is the average, the one that validation measured, so that whatever reads the
    checkpoint gets it; what training needs to go on lies beside it, under ``training_weights``.

    Args:
        momentum: share of the newest weights in the average, in (0, 1); that of the i-th update of the run (from 1) is
            ``1 / (i + 1)`` where this is more. 2e-4 averages over about the last 5000 updates.

    Raises:
        ValueError: for a momentum outside (0, 1).
    """

    def __init__(self, momentum: float = 2e-4) -> None:
        if not 0 < momentum < 1:
            raise ValueError(f'custom_hooks: momentum of EMAHook must be in (0, 1), got {momentum}')
        self.momentum = momentum
        self._parameters: dict[str, nn.Parameter] = {}
        self._averages: dict[str, Tensor] = {}
        self._resumed: Optional[Mapping[str, Tensor]] = None
        self._is_swapped = False

    def after_load_checkpoint(self, runner: Runner, checkpoint: Mapping[str, Any]) -> None:
        """Keep the averages of a run that is resumed; of one without them, they start from its weights."""
        if AVERAGED_WEIGHTS in checkpoint:
            self._resumed = {**checkpoint['state_dict'], **checkpoint[AVERAGED_WEIGHTS]}

    def before_train(self, runner: Runner) -> None:
        """Start from the weights as they are now, or from the averages of the resumed run."""
        self._parameters = runner.trained_parameters()
        self._averages = {name: parameter.detach().clone() for name, parameter in self._parameters.items()}
        if self._resumed is not None:
            for name, average in self._averages.items():
                average.copy_(self._resumed[name])
        self._resumed = None
        last = round(1 / self.momentum)
        runner.logger.info(f'EMAHook: validation and checkpoints use the average of the weights, over about the last '
                           f'{last:,} iterations (momentum {self.momentum:g}); up to iteration {last:,}, over all.')

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Take one update into the averages."""
        weight = max(self.momentum, 1 / (batch_idx + 2))  # the start is one of the weights that are averaged
        torch._foreach_lerp_(list(self._averages.values()), [p.data for p in self._parameters.values()], weight)

    def before_val_epoch(self, runner: Runner) -> None:
        """Validation in a training run measures the averages."""
        self._swap()

    def after_val_epoch(self, runner: Runner, metrics: Optional[dict[str, float]] = None) -> None:
        """Training goes on with the weights themselves."""
        if self._is_swapped:
            self._swap()

    def weight_entries(self, runner: Runner) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint of ``Sapiens2Runner`` holds of the model: averages, and beside them what training needs."""
        in_model = {name: parameter.detach() for name, parameter in self._parameters.items()}
        averages, training = (in_model, self._averages) if self._is_swapped else (self._averages, in_model)
        if any(isinstance(average, DTensor) for average in averages.values()):
            weights = {**runner.weights_for_use(), **averages}  # put in place, they would be overwritten afterwards
        else:
            with self._averages_in_place():  # adapters are part of other weights
                weights = runner.weights_for_use()
        return {'state_dict': weights, TRAINING_WEIGHTS: training,
                AVERAGED_WEIGHTS: {name: average for name, average in averages.items() if name not in weights}}

    @contextmanager
    def _averages_in_place(self) -> Iterator[None]:
        swap = not self._is_swapped
        if swap:
            self._swap()
        try:
            yield
        finally:
            if swap:
                self._swap()

    def _swap(self) -> None:
        """Exchange weights and averages; only parts of sharded ones, whose place is fixed, are copied."""
        for name, parameter in self._parameters.items():
            if isinstance(parameter, DTensor):
                ours, average = own_part(parameter).detach(), own_part(self._averages[name])
                kept = ours.clone()
                ours.copy_(average)
                average.copy_(kept)
            else:
                parameter.data, self._averages[name] = self._averages[name], parameter.data
        self._is_swapped = not self._is_swapped
