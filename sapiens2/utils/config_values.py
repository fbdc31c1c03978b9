"""Values in a configuration that no run can work with, found before it starts rather than inside MMEngine or torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

# Entry -> smallest whole number that makes sense.
WHOLE_NUMBERS = {'train_cfg.max_iters': 1, 'train_cfg.val_interval': 1, 'train_cfg.val_begin': 0,
                 'optim_wrapper.accumulative_counts': 1, 'default_hooks.checkpoint.interval': 1,
                 'default_hooks.logger.interval': 1,
                 **{f'{loader}_dataloader.{key}': least for loader in ('train', 'val', 'test')
                    for key, least in (('batch_size', 1), ('num_workers', 0))}}
# Entry -> whether zero makes sense; all are finite and not negative.
NUMBERS = {'optim_wrapper.optimizer.lr': True, 'optim_wrapper.optimizer.weight_decay': True,
           'optim_wrapper.clip_grad.max_norm': False, 'optim_wrapper.paramwise_cfg.layer_decay_rate': False}
# Entries that hold a dictionary, if anything.
DICTIONARIES = ('model', 'train_cfg', 'val_cfg', 'test_cfg', 'optim_wrapper', 'default_hooks', 'randomness', 'env_cfg',
                'log_processor', 'visualizer', 'fine_tuning', 'strategy', 'train_dataloader', 'val_dataloader',
                'test_dataloader')


def dictionary_faults(cfg: Mapping[str, Any]) -> dict[str, str]:
    """Entry -> text, for each that should hold a dictionary and holds something else."""
    return {key: f'{key}: must be a dictionary, got {cfg[key]!r}' for key in DICTIONARIES
            if cfg.get(key) is not None and not isinstance(cfg[key], Mapping)}


def value_faults(cfg: Mapping[str, Any]) -> Iterator[str]:
    """One text for each entry whose value cannot work."""
    for entry, least in WHOLE_NUMBERS.items():
        value = _entry(cfg, entry)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            yield f'{entry}: must be a whole number of at least {least}, got {value!r}'
    for entry, zero_allowed in NUMBERS.items():
        value = _entry(cfg, entry)
        if value is None:
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < 0 or value == 0 and not zero_allowed:
            yield f'{entry}: must be a number {"of at least" if zero_allowed else "above"} 0, got {value!r}'
    schedules = cfg.get('param_scheduler')
    for schedule in schedules if isinstance(schedules, (list, tuple)) else [schedules]:
        if schedule is not None and not isinstance(schedule, Mapping):
            yield f'param_scheduler: must hold dictionaries with a type, got {schedule!r}'


def _entry(cfg: Any, path: str) -> Any:
    """The value at a dotted path; None if there is none."""
    for key in path.split('.'):
        cfg = cfg.get(key) if hasattr(cfg, 'get') else None  # MMEngine's Config is no Mapping
    return cfg
