"""The five tasks, and the splits of their data. Nothing heavy is imported, so that the help of the command is quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sapiens2.utils.suggest import unknown_name

# Task -> type of its decoder.
HEAD_OF_TASK = {'pose': 'PoseHeatmapHead', 'seg': 'SegHead', 'normal': 'NormalHead', 'pointmap': 'PointmapHead',
                'albedo': 'AlbedoHead'}
TASKS = tuple(HEAD_OF_TASK)
SPLITS = ('train', 'val', 'test')
# What people who know the released models may ask for.
MATTING_HINT = ('Matting has no decoder here: transformers runs its weights (facebook/sapiens2-matting-1b), this '
                'project loads their backbone, and projects/matting trains networks of its own.')


def unknown_task(task: str, tasks: Sequence[str] = TASKS) -> str:
    """Text of the error about a task that is none of ``tasks``."""
    return MATTING_HINT + f' Tasks: {", ".join(tasks)}.' if task.lower() == 'matting' else unknown_name(
        task, tasks, 'task')


def task_of(cfg: Mapping[str, Any]) -> str:
    """The task of a config, by its head.

    Raises:
        ValueError: if it is of none of the five.
    """
    head = cfg.get('model', {}).get('decode_head', {}).get('type')
    task = next((task for task, name in HEAD_OF_TASK.items() if name == head), None)
    if task is None:
        raise ValueError(unknown_task(str(head), tuple(HEAD_OF_TASK.values())))
    return task
