"""Norms of the gradient by part of the model, and of what each branch of pretraining asks of the backbone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import torch
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor
from torch.optim import Optimizer

from sapiens2.registry import HOOKS


@HOOKS.register_module()
class GradientNormHook(Hook):
    """Adds to the log of each iteration:

    * ``grad_norm_backbone``, ``grad_norm_mae`` and so on: of the parameters of each part of the model (a child of it),
      before clipping by norm.
    * ``grad_norm_tokens_mae`` and so on: of the loss of each branch with respect to the tokens that the backbone gives
      it (``BranchGradients``), which says how strongly each branch pulls at the backbone.
    """

    def __init__(self) -> None:
        self._norms: dict[str, Tensor] = {}

    def before_train(self, runner: Runner) -> None:
        """Look at gradients when the optimizer is about to use them."""
        parts: dict[str, list[torch.nn.Parameter]] = {}
        for name, parameter in runner.trained_parameters().items():
            parts.setdefault(name.partition('.')[0], []).append(parameter)

        def measure(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._norms = {part: torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
                           for part, parameters in parts.items()}

        runner.optim_wrapper.optimizer.register_step_pre_hook(measure)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Log the norms."""
        norms = {part: float(norm) for part, norm in self._norms.items()}
        factor = self._clipping(runner, norms)
        hub = runner.message_hub
        for part, norm in norms.items():
            hub.update_scalar(f'train/grad_norm_{part}', norm * factor)
        taps = getattr(runner.bare_model, 'branch_gradients', None)
        for branch, norm in (taps.take() if taps is not None else {}).items():
            hub.update_scalar(f'train/grad_norm_tokens_{branch}', norm)

    @staticmethod
    def _clipping(runner: Runner, norms: Mapping[str, float]) -> float:
        """By what clipping has divided the gradient, all parts alike; 1 without clipping by norm."""
        after = sum(norm**2 for norm in norms.values())**0.5
        wrapper = runner.optim_wrapper
        if not wrapper.clip_grad_kwargs or wrapper.grad_name != 'grad_norm' or not after:
            return 1.0
        return runner.message_hub.get_scalar('train/grad_norm').current() / after
