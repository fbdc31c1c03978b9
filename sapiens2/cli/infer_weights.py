"""Which weights ``sapiens2 infer`` runs each task with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from sapiens2.export.formats import check_not_renamed, is_exported
from sapiens2.utils.tasks import TASKS

RANDOM = 'random'


def weights_by_task(tasks: Sequence[str], given: Sequence[str], model: Optional[str] = None) -> dict[str, str]:
    """Checkpoint of each task, or ``random``.

    Args:
        given: FILE, a repository of huggingface.co or ``random`` for all tasks, and TASK=FILE and the like for one.
        model: name of a model; where nothing is given, its weights that come with the package are taken.

    Raises:
        ValueError: if a task has none, or one file is to serve several tasks.
        FileNotFoundError: if one does not exist.
    """
    from sapiens2.models.checkpoints.hub import local_weights
    common: Optional[str] = None
    single: dict[str, str] = {}
    for text in given:
        task, separator, file = text.partition('=')
        if separator and task in TASKS:
            if not file:
                raise ValueError(f'--weights {text}: no file behind the task')
            single[task] = file
        elif common is None:
            common = text
        else:
            raise ValueError(f'--weights: {common} and {text}: name the task of each, TASK=FILE')
    if common not in (None, RANDOM) and len(tasks) > 1:
        raise ValueError(f'--weights {common}: a checkpoint holds one task; give TASK=FILE for each of '
                         + ', '.join(tasks))
    unused = [task for task in single if task not in tasks]
    if unused:
        raise ValueError(f'--weights {unused[0]}={single[unused[0]]}: that task does not run')
    chosen = {task: single.get(task, common) or _embedded(task, model) for task in tasks}
    lacking = [task for task, file in chosen.items() if not file]
    if lacking:
        raise ValueError(f'--weights: no checkpoint for {", ".join(lacking)}. `sapiens2 zoo` lists the released files '
                         f'and where they are; `--model tiny` has weights that come with the package; `--weights '
                         f'{RANDOM}` runs an untrained network')
    # Now, not when the tasks before it are done.
    files = {task: file if file == RANDOM else str(local_weights(file)) for task, file in chosen.items()}
    for file in files.values():
        check_not_renamed(Path(file))
    return files


def tasks_by_backbone(weights: Mapping[str, str]) -> list[list[str]]:
    """The tasks in groups whose checkpoints hold the same backbone, which then is in memory once."""
    from sapiens2.models.checkpoints.same_backbone import same_backbone
    groups: list[list[str]] = []
    for task, file in weights.items():
        for group in groups:
            others = file, weights[group[0]]
            if not any(name == RANDOM or is_exported(name) for name in others) and same_backbone(*others):
                group.append(task)
                break
        else:
            groups.append([task])
    return groups


def _embedded(task: str, model: Optional[str]) -> Optional[str]:
    from sapiens2.utils.task_models import model_name
    from sapiens2.weights import embedded_weights
    file = embedded_weights(task, model_name(task, model)) if model else None
    return str(file) if file else None
