"""Values that change over a run: pure functions of the iteration and of the length of the run.

Durations are given in iterations (an integer) or as a share of the run (a float in [0, 1]), so that the same config
fits a run of a hundred iterations and one of a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Optional, Union

from sapiens2.registry import SCHEDULES
from sapiens2.utils.suggest import UnknownNameError

Duration = Union[int, float]
# (iterations that are done, iterations of the whole run) -> value.
Schedule = Callable[[int, int], float]


def iterations(duration: Duration, max_iters: int) -> float:
    """``duration`` in iterations of a run of ``max_iters``."""
    return duration * max_iters if isinstance(duration, float) else duration


def check_duration(duration: Duration, what: str) -> None:
    """Raise ValueError unless ``duration`` is one."""
    if isinstance(duration, bool) or not isinstance(duration, (int, float)) or duration < 0 or (
            isinstance(duration, float) and not duration <= 1):
        raise ValueError(f'{what} must be a number of iterations (an integer) or a share of the run (a float in '
                         f'[0, 1]), got {duration!r}')


@SCHEDULES.register_module()
@dataclass(frozen=True)
class Constant:
    """The same ``value`` throughout."""

    value: float

    def __call__(self, iteration: int, max_iters: int) -> float:
        return self.value


@SCHEDULES.register_module()
@dataclass(frozen=True)
class Linear:
    """From ``start`` straight to ``end``, which is reached after ``warmup`` and kept."""

    start: float
    end: float
    warmup: Duration = 1.0

    def __post_init__(self) -> None:
        check_duration(self.warmup, 'warmup')

    def __call__(self, iteration: int, max_iters: int) -> float:
        length = iterations(self.warmup, max_iters)
        if iteration >= length:
            return self.end
        return self.start + (self.end - self.start) * iteration / length


@SCHEDULES.register_module()
@dataclass(frozen=True)
class Cosine:
    """From ``start`` along half a cosine to ``end``, which is reached when all iterations are done.

    Before it, straight from ``warmup_start`` to ``start`` during ``warmup``.
    """

    start: float
    end: float
    warmup: Duration = 0
    warmup_start: float = 0.0

    def __post_init__(self) -> None:
        check_duration(self.warmup, 'warmup')

    def __call__(self, iteration: int, max_iters: int) -> float:
        length = iterations(self.warmup, max_iters)
        if iteration < length:
            return self.warmup_start + (self.start - self.warmup_start) * iteration / length
        if iteration >= max_iters:
            return self.end
        done = (iteration - length) / (max_iters - length)
        return self.end + (self.start - self.end) * (1 + math.cos(math.pi * done)) / 2


def build_schedule(config: Union[float, Mapping[str, Any], Schedule], where: str) -> Schedule:
    """The schedule that ``config`` describes.

    Args:
        config: a number (constant), ``dict(type='Linear', start=..., end=..., warmup=...)`` and the like, or a
            schedule.
        where: name of the field, for errors.

    Raises:
        ValueError: for an unknown type (the nearest is offered), or options that do not fit it.
    """
    if isinstance(config, (int, float)) and not isinstance(config, bool):
        return Constant(float(config))
    if callable(config):
        return config
    if not isinstance(config, Mapping) or 'type' not in config:
        raise ValueError(f"{where} must be a number or a schedule, dict(type='Cosine', start=..., end=...) for "
                         f'instance, got {config!r}')
    try:
        return SCHEDULES.build(dict(config))
    except UnknownNameError as error:
        raise UnknownNameError(f'{where}: {error}') from error
    except (TypeError, ValueError) as error:
        raise ValueError(f'{where}: {error}') from error


def check_range(schedule: Schedule, where: str, least: float, most: float = math.inf, above: bool = False) -> None:
    """Raise ValueError unless ``schedule`` stays between ``least``, or above it, and ``most`` throughout.

    Args:
        where: name of the field, for errors.
    """
    warmup = getattr(schedule, 'warmup', 0)
    whole = 1_000_000 if isinstance(warmup, float) else 1_000 + 2 * warmup
    for iteration in (0, math.ceil(iterations(warmup, whole)), whole):  # where the schedules above turn
        try:
            value = schedule(iteration, whole)
            inside = least <= value <= most and not (above and value == least)
        except TypeError as error:
            raise ValueError(f'{where} must be made of numbers, got {schedule!r}') from error
        if not inside:
            limits = f'in [{least:g}, {most:g}]' if most < math.inf else f'{"above" if above else "at least"} {least:g}'
            raise ValueError(f'{where} must be {limits} from the first iteration to the last, got {value:g}')


def check_number(value: Any, where: str, least: float = 0.0, above: bool = False) -> None:
    """Raise ValueError unless ``value`` is a finite number of at least ``least``, or above it."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < least or above and value == least:
        raise ValueError(f'{where} must be a number {"above" if above else "of at least"} {least:g}, got {value!r}')


def known_progress(progress: Optional[tuple[int, int]]) -> tuple[int, int]:
    """``progress``: what the arguments of a schedule are now.

    Raises:
        RuntimeError: if nobody has told.
    """
    if progress is None:
        raise RuntimeError('the model does not know how far the run is, and nothing would update a teacher: add '
                           "dict(type='PretrainingHook') to custom_hooks (or call set_progress)")
    return progress
