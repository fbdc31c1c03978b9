"""What a pretraining run does besides updating weights: schedules and the teacher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from sapiens2.registry import HOOKS


@HOOKS.register_module()
class PretrainingHook(Hook):
    """Tells a ``Sapiens2Pretrainer`` how far the run is, and lets its teacher follow after each update of the weights.

    The teacher begins as the student is when training starts, loaded weights included; one that comes with the loaded
    or resumed weights goes on. Prototypes that are frozen are kept from the optimizer, weight decay included.

    Raises:
        TypeError: for another model.
    """

    priority = 'HIGH'

    def before_train(self, runner: Runner) -> None:
        """Start the teacher."""
        model = runner.bare_model
        if not hasattr(model, 'start_teacher'):
            raise TypeError(f'custom_hooks: PretrainingHook is for a Sapiens2Pretrainer, and model is a '
                            f'{type(model).__name__}: take the hook out')
        model.start_teacher()
        if model.contrastive is not None:
            runner.optim_wrapper.optimizer.register_step_pre_hook(
                lambda *_: model.contrastive.release_gradients())

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """Tell the schedules."""
        runner.bare_model.set_progress(batch_idx, runner.max_iters)

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Update the teacher."""
        runner.bare_model.update_teacher()
