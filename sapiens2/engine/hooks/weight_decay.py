"""Weight decay that changes over a run (DINO, Caron et al., arXiv 2104.14294)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional, Union

from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.models.pretrainers.schedules import build_schedule
from sapiens2.registry import HOOKS

# Of a parameter group, saved with the optimizer: its weight decay over that of a group whose ratio is one. A run that
# is resumed finds what the schedule has made of the decay, and its config may hold another one.
_RATIO = 'weight_decay_ratio'


@HOOKS.register_module()
class WeightDecayHook(Hook):
    """Sets the weight decay of the optimizer before each iteration.

    Groups of parameters without weight decay stay without; the others keep their ratios (``decay_mult``).

    Args:
        schedule: weight decay of a group whose ratio is one: a number, or a schedule (``build_schedule``) whose
            ``start`` is that of the optimizer unless it is given.

    Raises:
        ValueError: for a schedule that cannot be, or an optimizer without weight decay.
    """

    def __init__(self, schedule: Union[float, Mapping[str, Any]]) -> None:
        self.schedule = schedule

    def before_train(self, runner: Runner) -> None:
        """Note where the groups begin."""
        optimizer = runner.optim_wrapper.optimizer
        self._base = optimizer.defaults.get('weight_decay')
        if not self._base:
            raise ValueError('custom_hooks: WeightDecayHook needs an optimizer with weight_decay above 0, from which '
                             'it tells which parameters are decayed')
        schedule = self.schedule
        if isinstance(schedule, Mapping) and schedule.get('type') != 'Constant':
            schedule = {'start': self._base, **schedule}
        self._value = build_schedule(schedule, 'custom_hooks: WeightDecayHook.schedule')
        for group in optimizer.param_groups:
            group.setdefault(_RATIO, group['weight_decay'] / self._base)

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None) -> None:
        """Set it."""
        decay = self._value(batch_idx, runner.max_iters)
        for group in runner.optim_wrapper.optimizer.param_groups:
            group['weight_decay'] = group[_RATIO] * decay
        runner.message_hub.update_scalar('train/weight_decay', decay)
