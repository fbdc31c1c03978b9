"""What class tokens tell of whole pictures: nearest neighbours and linear probes, with all or with few pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.evaluation.probes.attributes import IDENTITY
from sapiens2.evaluation.probes.images import ProbeData
from sapiens2.evaluation.probes.solvers import Linear, choose_strength, fit_logistic

# Neighbours that vote, and the temperature of their votes, as in DINO (arXiv 2104.14294).
NEIGHBOURS, _TEMPERATURE = 20, 0.07
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
# A value with fewer training pictures is left out; a fifth of them chooses the strength.
LEAST_PICTURES, _PARTS = 5, 5
_FEW_STRENGTH = 1e-2
_SHOWN = 8  # values of an attribute in a message


@dataclass(frozen=True)
class Labels:
    """One attribute as a task.

    Attributes:
        name: of the attribute.
        classes: its values.
        train, val: places in the images of those that have one of these values.
        train_labels, val_labels: their classes, (n,) int64.
    """

    name: str
    classes: tuple[str, ...]
    train: list[int]
    val: list[int]
    train_labels: Tensor
    val_labels: Tensor


def label_sets(data: ProbeData) -> list[Labels]:
    """The attributes that can be probed: two values or more that occur often enough in training and in validation."""
    names = sorted({name for image in data.images for name in image.attributes} - {IDENTITY})
    sets = []
    for name in names:
        places = {split: [index for index in data.indices(split) if name in data.images[index].attributes]
                  for split in ('train', 'val')}
        counts = {split: Counter(data.images[index].attributes[name] for index in found)
                  for split, found in places.items()}
        classes = tuple(sorted(value for value, count in counts['train'].items()
                               if count >= LEAST_PICTURES and counts['val'][value]))
        if len(classes) < 2:
            continue
        kept = {split: [index for index in found if data.images[index].attributes[name] in classes]
                for split, found in places.items()}
        labels = {split: torch.tensor([classes.index(data.images[index].attributes[name]) for index in found])
                  for split, found in kept.items()}
        sets.append(Labels(name, classes, kept['train'], kept['val'], labels['train'], labels['val']))
    return sets


def why_none(data: ProbeData) -> str:
    """Why ``label_sets`` finds no attribute: what there is, with the pictures of each value in train + val."""
    names = sorted({name for image in data.images for name in image.attributes} - {IDENTITY})
    if not names:
        return 'no attribute; give folders of classes or a labels.csv'
    lines = []
    for name in names:
        counts = {split: Counter(data.images[index].attributes[name] for index in data.indices(split)
                                 if name in data.images[index].attributes) for split in ('train', 'val')}
        values = sorted(counts['train'] | counts['val'], key=lambda value: (-counts['train'][value], value))
        more = f' and {len(values) - _SHOWN} more values' if len(values) > _SHOWN else ''
        lines.append(f'  {name}: ' + ', '.join(f'{value} {counts["train"][value]} + {counts["val"][value]}'
                                               for value in values[:_SHOWN]) + more)
    return (f'no attribute with two values that are frequent enough: a value needs {LEAST_PICTURES} training pictures '
            'and one for validation. Found, training + validation pictures of each value:\n' + '\n'.join(lines))


def accuracies(predicted: Tensor, labels: Tensor, classes: int) -> dict[str, float]:
    """Share of right answers, and its mean over the classes that occur, percent."""
    right = (predicted == labels).double()
    of_class = [right[labels == label].mean() for label in range(classes) if bool((labels == label).any())]
    return {'accuracy_percent': 100 * float(right.mean()),
            'balanced_percent': 100 * float(torch.stack(of_class).mean())}


def trivial(labels: Labels) -> dict[str, float]:
    """The most frequent class of training."""
    most = torch.bincount(labels.train_labels).argmax()
    return accuracies(most.expand(len(labels.val_labels)), labels.val_labels, len(labels.classes))


def nearest(features: Tensor, labels: Labels) -> dict[str, float]:
    """Weighted vote of the nearest training pictures by the cosine of their features (N, C)."""
    train, val = (F.normalize(features[places], dim=1) for places in (labels.train, labels.val))
    votes = torch.zeros(len(val), len(labels.classes))
    for start in range(0, len(val), 1024):
        similarity, found = (val[start:start + 1024] @ train.T).topk(min(NEIGHBOURS, len(train)), dim=1)
        # Relative to the nearest, which keeps the exponential in range and changes no order.
        weights = ((similarity - similarity[:, :1]) / _TEMPERATURE).exp()
        votes[start:start + 1024].scatter_add_(1, labels.train_labels[found], weights)
    return accuracies(votes.argmax(1), labels.val_labels, len(labels.classes))


def linear(features: Tensor, labels: Labels) -> dict[str, float]:
    """Logistic regression; its penalty is chosen on every fifth training picture, then all are learnt from."""
    x, y, classes = features[labels.train], labels.train_labels[:, None], len(labels.classes)
    held_out = torch.arange(len(x)) % _PARTS == _PARTS - 1

    def score(strength: float) -> float:
        model = fit_logistic(x[~held_out], y[~held_out], classes, strength)
        return -float(F.cross_entropy(model(x[held_out]), y[held_out, 0]))

    model = fit_logistic(x, y, classes, choose_strength(STRENGTHS, score))
    return _measured(model, features, labels)


def linear_few(features: Tensor, labels: Labels, shots: int, generator: torch.Generator) -> dict[str, float]:
    """Logistic regression on ``shots`` training pictures of each class, drawn anew."""
    chosen: list[int] = []
    for label in range(len(labels.classes)):
        places = (labels.train_labels == label).nonzero()[:, 0]
        chosen += places[torch.randperm(len(places), generator=generator)[:shots]].tolist()
    picked = torch.tensor(chosen)
    x = features[torch.tensor(labels.train)[picked]]
    model = fit_logistic(x, labels.train_labels[picked, None], len(labels.classes), _FEW_STRENGTH)
    return _measured(model, features, labels)


def few_is_fewer(labels: Labels, shots: int) -> bool:
    """Whether some class has more than ``shots`` training pictures."""
    return int(torch.bincount(labels.train_labels).max()) > shots


def _measured(model: Linear, features: Tensor, labels: Labels) -> dict[str, float]:
    return accuracies(model(features[labels.val]).argmax(1), labels.val_labels, len(labels.classes))


def mean_of(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean of each figure."""
    return {name: sum(values[name] for values in figures) / len(figures) for name in figures[0]}
