"""Checks of arguments of the Python interface: each names the argument, what came, and what is accepted."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Optional

import numpy as np

from sapiens2.utils.task_models import check_task
from sapiens2.utils.tasks import TASKS


def check_tasks(task: Any) -> tuple[str, ...]:
    """The tasks that a name or several are.

    Raises:
        TypeError, ValueError: if there is none, an unknown one, or one twice.
    """
    if not isinstance(task, Iterable) or isinstance(task, bytes):
        raise TypeError(f'task must be one of {", ".join(TASKS)}, or several of them; got {task!r:.40}')
    tasks = (task,) if isinstance(task, str) else tuple(task)
    for name in tasks:
        if not isinstance(name, str):
            raise TypeError(f'task must be one of {", ".join(TASKS)}, or several of them; got {name!r:.40} among them')
        check_task(name)
    if not tasks:
        raise ValueError(f'task names none: give one of {", ".join(TASKS)}, or several of them')
    if len(set(tasks)) < len(tasks):
        raise ValueError(f'task names one twice: {", ".join(tasks)}')
    return tasks


def check_size(value: Any, name: str) -> Optional[tuple[int, int]]:
    """(H, W), or None.

    Raises:
        TypeError, ValueError: if it is neither.
    """
    if value is None:
        return None
    sides = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else ()
    if len(sides) != 2:
        raise TypeError(f'{name} must be (H, W), two whole numbers of pixels; got {value!r:.40}')
    height, width = (check_count(side, name) for side in sides)
    return height, width


def check_count(value: Any, name: str) -> int:
    """A whole number from 1.

    Raises:
        TypeError, ValueError: if it is none.
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f'{name} must be a whole number from 1, got {value!r:.40}') from error
    if number < 1:
        raise ValueError(f'{name} must be a whole number from 1, got {value!r}')
    return number


def check_score(value: Any, name: str) -> None:
    """
    Raises:
        TypeError, ValueError: if ``value`` is no number from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise TypeError(f'{name} must be a number from 0 to 1, got {value!r:.40}')
    if not 0 <= value <= 1:  # NaN, too
        raise ValueError(f'{name} must be a number from 0 to 1, got {value!r}')
