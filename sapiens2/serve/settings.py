"""What a server offers, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import torch

from sapiens2.detectors.base import PersonDetector
from sapiens2.export.exported_network import ExportedNetwork
from sapiens2.export.formats import is_exported
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.models.checkpoints.hub import local_weights
from sapiens2.utils.suggest import UnknownNameError, unknown_name
from sapiens2.utils.task_models import DEFAULT_MODEL, model_name
from sapiens2.utils.tasks import TASKS, unknown_task
from sapiens2.weights import embedded_weights


@dataclass(frozen=True)
class NetworkSpec:
    """One network that visitors can choose.

    Attributes:
        task: 'pose', 'seg', 'normal', 'pointmap' or 'albedo'.
        model: full name of the model, 'sapiens2_1b' for instance.
        weights: checkpoint, or 'random'.
    """

    task: str
    model: str
    weights: str


@dataclass(frozen=True)
class ServeSettings:
    """What a server offers, and its limits.

    Attributes:
        networks: those that visitors can choose; see ``network_specs``.
        host, port: where it listens. Any host but a loopback address lets others in.
        device, dtype, trust_exported: as of ``Sapiens2Inferencer``.
        detector: who finds people; None: visitors give boxes, or a picture of one person.
        max_pixels: of a picture.
        max_bytes: of its file.
        seconds: that one picture may take, without waiting for its turn and for a network that loads.
        queue: how many visitors may wait.
        keep_seconds: how long a visitor can fetch results; then they are deleted, and the uploads with them.
    """

    networks: tuple[NetworkSpec, ...]
    host: str = '127.0.0.1'
    port: int = 7860
    device: str = 'auto'
    dtype: str = 'auto'
    detector: Optional[PersonDetector] = None
    max_pixels: int = 16_000_000
    max_bytes: int = 20_000_000
    seconds: float = 120.0
    queue: int = 16
    keep_seconds: int = 600
    trust_exported: bool = False


def network_specs(models: Sequence[str], given: Sequence[str], trust_exported: bool = False
                  ) -> tuple[NetworkSpec, ...]:
    """The networks of ``models`` for which there are weights, in the order of the models and the tasks.

    Args:
        models: names; 'tiny' stands for 'sapiens2_tiny'. With none, those in the exported networks that are given, and
            'sapiens2_1b' for other weights.
        given: TASK=FILE, TASK=OWNER/REPOSITORY of huggingface.co, see ``local_weights``, or
            TASK=random, with several models MODEL:TASK=FILE; 'random' stands for all tasks without
            other weights. Where nothing is given, the weights that come with the package are taken.
        trust_exported: see ``Sapiens2Inferencer``.

    Raises:
        ValueError: if a text, a task or a model is unknown, a model has no weights at all, or an exported network is
            another one.
        FileNotFoundError: if a checkpoint or repository does not exist.
    """
    names = list(dict.fromkeys(models))
    chosen: dict[tuple[str, str], str] = {}
    for text in given:
        if text != RANDOM:
            key, file = _checkpoint(text, names, trust_exported)
            if key in chosen:
                raise ValueError(f'--weights {text}: {key[1]} of {key[0]} has {chosen[key]} already')
            chosen[key] = file
    specs: list[NetworkSpec] = []
    for name in names or dict.fromkeys(model for model, _ in chosen) or [DEFAULT_MODEL]:
        offered = []
        for task in TASKS:
            full = model_name(task, name)
            file = chosen.get((name, task)) or (RANDOM if RANDOM in given else embedded_weights(task, full))
            offered += [] if file is None else [NetworkSpec(task, full, str(file))]
        if not offered:
            raise ValueError(f'--weights: no checkpoint for {name}. Give TASK=FILE for each task to offer; `sapiens2 '
                             f'zoo` lists the released files; `--weights {RANDOM}` shows the page with untrained '
                             'networks')
        specs += offered
    return tuple(dict.fromkeys(specs))


def _checkpoint(text: str, models: Sequence[str], trust_exported: bool) -> tuple[tuple[str, str], str]:
    """(model, task) and file of one ``--weights``."""
    key, separator, file = text.partition('=')
    model, colon, task = key.rpartition(':')
    if not separator or not file:
        raise ValueError(f'--weights {text}: must be TASK=FILE, or {RANDOM}')
    if task not in TASKS:
        raise UnknownNameError(f'--weights {text}: ' + unknown_task(task))
    path = file if file == RANDOM else str(local_weights(file))
    if is_exported(path):
        held = ExportedNetwork(path, torch.device('cpu'), trust_exported)
        held.config(task)  # raises if it is for another one
        fitting = [name for name in ([model] if colon else models or [held.arch_name])
                   if model_name(task, name) == held.arch_name]
        if not fitting:
            raise ValueError(f'--weights {text}: holds the network {held.arch_name}: serve that model, --model '
                             f'{held.arch_name}, or leave --model and MODEL: out')
        return (fitting[0], task), path
    models = models or [DEFAULT_MODEL]
    if not colon:
        if len(models) > 1:
            raise ValueError(f'--weights {text}: of which model? Write MODEL:{text}; models: {", ".join(models)}')
        model = models[0]
    if model not in models:
        raise UnknownNameError(f'--weights {text}: ' + unknown_name(model, models, 'model that is served'))
    return (model, task), path
