"""Kinds of values that options of ``sapiens2 infer`` and its like take."""

from __future__ import annotations

import argparse
from pathlib import Path

from sapiens2.utils.tasks import TASKS, unknown_task

ALL = 'all'


def score(text: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'must be a number from 0 to 1, this is {text!r}') from error
    if not 0 <= number <= 1:  # NaN, too
        raise argparse.ArgumentTypeError(f'must be a number from 0 to 1, this is {text}')
    return number


def not_empty(text: str) -> str:
    """A name that is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError('is an empty name')
    return text


def some_path(text: str) -> Path:
    """A path that is not empty, which would mean the current folder."""
    return Path(not_empty(text))


def task_names(text: str) -> str:
    """A task, several with commas between, or ``all``."""
    for part in text.split(','):
        if part not in (*TASKS, ALL):
            raise argparse.ArgumentTypeError(unknown_task(part, (*TASKS, ALL)))
    return text


def chosen_tasks(text: str) -> tuple[str, ...]:
    """What ``task_names`` has accepted, each once."""
    parts = text.split(',')
    return TASKS if ALL in parts else tuple(dict.fromkeys(parts))
