"""Retrieval by class token: are the pictures most like a validation picture those that share something with it?"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.evaluation.probes.attributes import IDENTITY
from sapiens2.evaluation.probes.classify import Labels
from sapiens2.evaluation.probes.images import ProbeData

RANKS = (1, 5, 10)


def identity_set(data: ProbeData) -> Labels | None:
    """Identities as labels: people of the validation pictures are looked for among the other validation pictures, since
    nobody is in both splits. None where nobody is there twice."""
    places = [index for index in data.indices('val') if IDENTITY in data.images[index].attributes]
    who = [data.images[index].attributes[IDENTITY] for index in places]
    classes = tuple(sorted({name for name in who if who.count(name) > 1}))
    if not classes:
        return None
    places = [index for index, name in zip(places, who) if name in classes]
    labels = torch.tensor([classes.index(data.images[index].attributes[IDENTITY]) for index in places])
    return Labels(IDENTITY, classes, places, places, labels, labels)


def retrieval(features: Tensor, labels: Labels) -> dict[str, float]:
    """Recall at ``RANKS`` (any of the first k shares the value) and mean average precision, percent.

    Queries are validation pictures and the gallery is the training pictures; a picture is never its own result.
    """
    queries, gallery = (F.normalize(features[places], dim=1) for places in (labels.val, labels.train))
    similarity = queries @ gallery.T
    return _figures(similarity, _same(labels), _itself(labels))


def chance(labels: Labels) -> dict[str, float]:
    """The same for a random order, in expectation (exactly).

    Of n pictures of which r are right, all of the first k are wrong with a probability of (n - r) / n times
    (n - r - 1) / (n - 1) and so on, k factors. Place i is right with probability r / n; it and the i - 1 before it hold
    1 + (i - 1) (r - 1) / (n - 1) right ones then.
    """
    same, itself = _same(labels), _itself(labels)
    right, count = (same & ~itself).double().sum(1), (~itself).double().sum(1)
    before = torch.arange(max(*RANKS, same.shape[1]))  # pictures before each place, places along the second dimension
    wrong = ((count - right)[:, None] - before).clamp(min=0) / (count[:, None] - before).clamp(min=1)
    any_right = (1 - wrong.cumprod(1)) * (right > 0)[:, None]
    others = (right - 1) / (count - 1).clamp(min=1)
    precision = (1 + before * others[:, None]) / (before + 1) * (before < count[:, None])
    average = precision.sum(1) / count * (right > 0)
    return {**{f'recall_at_{rank}_percent': 100 * float(any_right[:, rank - 1].mean()) for rank in RANKS},
            'mAP_percent': 100 * float(average.mean())}


def neighbours(features: Tensor, queries: list[int], gallery: list[int], count: int) -> list[list[int]]:
    """Places of the ``count`` pictures of the gallery most like each query, nearest first."""
    one, other = (F.normalize(features[places], dim=1) for places in (queries, gallery))
    order = (one @ other.T).topk(min(count, len(gallery)), dim=1).indices
    return [[gallery[place] for place in row] for row in order.tolist()]


def _same(labels: Labels) -> Tensor:
    return labels.val_labels[:, None] == labels.train_labels[None]


def _itself(labels: Labels) -> Tensor:
    return torch.tensor(labels.val)[:, None] == torch.tensor(labels.train)[None]


def _figures(similarity: Tensor, same: Tensor, itself: Tensor) -> dict[str, float]:
    order = similarity.masked_fill(itself, -torch.inf).argsort(dim=1, descending=True, stable=True)
    hits = (same & ~itself).gather(1, order).double()
    found = {f'recall_at_{rank}_percent': 100 * float(hits[:, :rank].amax(1).mean()) for rank in RANKS}
    precision = hits.cumsum(1) / torch.arange(1, hits.shape[1] + 1)
    average = (precision * hits).sum(1) / hits.sum(1).clamp(min=1)
    return {**found, 'mAP_percent': 100 * float(average.mean())}
