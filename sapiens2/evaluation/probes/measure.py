"""All figures of one backbone from its stored features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from rich.console import Console
from torch import Tensor

from sapiens2.evaluation.probes import classify, dense
from sapiens2.evaluation.probes.classify import Labels
from sapiens2.evaluation.probes.dense import DenseHead, DenseTask
from sapiens2.evaluation.probes.ground_truth import GroundTruth
from sapiens2.evaluation.probes.images import ProbeData
from sapiens2.evaluation.probes.options import ProbeOptions
from sapiens2.evaluation.probes.retrieval import chance, identity_set, retrieval
from sapiens2.evaluation.probes.store import TensorStore
from sapiens2.utils.choices import FEW, FIELD_OF_PROBE
from sapiens2.utils.progress import progress_bar

Figures = dict[str, float]
# In place of an attribute: the mean over all of them.
MEAN = 'mean'
SPREAD = '_spread'


@dataclass(frozen=True)
class Measured:
    """Figures by name, PROBE/TARGET/FIGURE_UNIT; few-shot ones start with fewshot/PICTURES and have a ``_spread``, the
    standard deviation over the draws. ``trivial`` are those of what does not look at the picture."""

    figures: Figures
    trivial: Figures


def measure_classes(features: Tensor, data: ProbeData, sets: Sequence[Labels], probes: Sequence[str],
                    options: ProbeOptions, console: Console, title: str) -> Measured:
    """Probes of class tokens, (N, C)."""
    found: Figures = {}
    known: Figures = {}
    with progress_bar(console) as progress:
        for labels in progress.track(sets, description=title):
            for probe, run in (('knn', classify.nearest), ('linear', classify.linear)):
                if probe in probes:
                    _put(found, f'{probe}/{labels.name}', run(features, labels))
                    _put(known, f'{probe}/{labels.name}', classify.trivial(labels))
            if 'retrieval' in probes:
                _put(found, f'retrieval/{labels.name}', retrieval(features, labels))
                _put(known, f'retrieval/{labels.name}', chance(labels))
    _add_means(found)
    _add_means(known)
    if FEW in probes and 'linear' in probes:
        _measure_few(found, features, sets, options, console, title)
    if 'retrieval' in probes and (people := identity_set(data)) is not None:
        _put(found, f'retrieval/{people.name}', retrieval(features, people))
        _put(known, f'retrieval/{people.name}', chance(people))
    return Measured(found, known)


def _measure_few(found: Figures, features: Tensor, sets: Sequence[Labels], options: ProbeOptions, console: Console,
                 title: str) -> None:
    """Linear probes with few pictures of each class. A class that has fewer gives all; numbers that are enough for
    every class of every attribute are left out."""
    numbers = [shots for shots in options.shots if any(classify.few_is_fewer(labels, shots) for labels in sets)]
    with progress_bar(console) as progress:
        for shots in progress.track(numbers, description=f'{title}: few'):
            of_set = {labels.name: [classify.linear_few(features, labels, shots, _generator(options.seed, draw))
                                    for draw in range(options.draws)] for labels in sets}
            of_set[MEAN] = [classify.mean_of(draws) for draws in zip(*of_set.values())]
            for name, draws in of_set.items():
                _put_spread(found, f'{FEW}/{shots}/linear/{name}', draws)


def measure_dense(features: TensorStore, targets: TensorStore, truth: GroundTruth, probes: Sequence[str],
                  options: ProbeOptions, console: Console, title: str) -> Measured:
    """Probes of patch tokens."""
    data = truth.data
    fields = [field for probe, field in FIELD_OF_PROBE.items() if probe in probes]
    task = DenseTask(tuple(fields), data.classes if 'sem_seg' in fields else (), options.cells)
    train, val = data.indices('train'), data.indices('val')
    plan: list[tuple[str, list[int], int]] = [('', train, 0)]
    for shots in options.shots if FEW in probes else ():
        if shots < len(train):
            for draw in range(options.draws):
                order = torch.randperm(len(train), generator=_generator(options.seed, draw))[:shots]
                plan.append((f'{FEW}/{shots}', [train[place] for place in order.tolist()], draw))
    heads: dict[str, DenseHead] = {}
    with progress_bar(console) as progress:
        for name, numbers, draw in progress.track(plan, description=f'{title}: fitting'):
            heads[f'{name}#{draw}'] = dense.fit(features, targets, numbers, task, _generator(options.seed, draw))
        channels = next(features.read('patches', val[:1]))[1].shape[-1]
        heads['trivial'] = dense.fit_trivial(targets, train, task, channels)
        scores = dense.evaluate(heads, features, truth, val, lambda numbers: progress.track(
            numbers, description=f'{title}: measuring'))
    known = scores.pop('trivial')
    grouped: defaultdict[str, list[Figures]] = defaultdict(list)
    for name, figures in scores.items():
        grouped[name.partition('#')[0]].append(figures)
    found = dict(grouped.pop('')[0])
    for name, draws in grouped.items():
        _put_spread(found, name, draws)
    return Measured(found, known)


def _generator(seed: int, draw: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed * 1_000_003 + draw)


def _put(figures: Figures, prefix: str, values: Figures) -> None:
    figures.update({f'{prefix}/{name}': value for name, value in values.items()})


def _put_spread(figures: Figures, prefix: str, draws: Sequence[Figures]) -> None:
    for name in draws[0]:
        values = torch.tensor([draw[name] for draw in draws], dtype=torch.float64)
        figures[f'{prefix}/{name}'] = float(values.mean())
        figures[f'{prefix}/{name}{SPREAD}'] = float(values.std(correction=1)) if len(draws) > 1 else 0.0


def _add_means(figures: Figures) -> None:
    """The mean over the attributes, of each figure."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for name, value in figures.items():
        probe, _, figure = name.split('/')
        groups[f'{probe}/{MEAN}/{figure}'].append(value)
    figures.update({name: sum(values) / len(values) for name, values in groups.items()})
