"""Flatten a distribution: keep all of what is rare, and a part of what is frequent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from sapiens2.curation.arguments import Count, NotNegative
from sapiens2.curation.clusters import hierarchy
from sapiens2.curation.columns import LIST, NUMBER, OTHER, TEXT, TRUTH, Column
from sapiens2.curation.filters import known_values
from sapiens2.utils.suggest import unknown_name

UNKNOWN = 'not known'
CLUSTER = 'cluster'
_STEPS, _TOLERANCE = 500, 1e-4


@dataclass(frozen=True)
class Partition:
    """Images in bins.

    Attributes:
        name: of the column.
        labels: of the bins, in words.
        bins: (N,) number of the bin of each image.
        weights: (B,) of the bins: those of 2 should be twice as frequent as those of 1.
    """

    name: str
    labels: list[str]
    bins: np.ndarray
    weights: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """(B,) images in each bin."""
        return np.bincount(self.bins, minlength=len(self.labels))


class Balance:
    """Samples so that bins of attributes, and clusters, become as frequent as asked for, as far as there are images.

    How many images of each bin there should be is set for each attribute, and for the clusters, by itself. Each image
    then gets a chance to be kept that is a product of a factor for each of its bins, found by generalised iterative
    scaling (Darroch and Ratcliff, 1972), so that all these numbers are met together; where they contradict each other,
    the result lies between them.

    Args:
        target: images to keep; a share of what is there if at most 1.
        embedding: column of feature vectors; None takes attributes alone.
        clusters: of each level, from the finest to the coarsest; they share equally at each level.
        attributes: column -> edges of bins, of which the upper does not belong to a bin. Texts and truth values are
            bins as they are, with edges None. What is not known is a bin of its own.
        shares: column -> label of a bin -> its weight. Bins that are not named weigh 1. Labels are those in reports:
            texts as they are, '< 2', '2 to 5', '>= 5', and 'not known'.
        seed: of clusters and choice.
    """

    def __init__(self, target: float = 0.5, embedding: Optional[str] = 'embedding',
                 clusters: Sequence[Count] = (256, 32),
                 attributes: Optional[Mapping[str, Optional[Sequence[float]]]] = None,
                 shares: Optional[Mapping[str, Mapping[str, float]]] = None, seed: NotNegative = 0) -> None:
        if target <= 0:
            raise ValueError(f'balance.target must be more than 0, got {target}')
        if embedding is None and not attributes:
            raise ValueError('balance needs an embedding, or attributes, to balance by')
        self.target, self.embedding, self.clusters = target, embedding, list(clusters)
        self.attributes, self.shares, self.seed = dict(attributes or {}), dict(shares or {}), seed
        for name, edges in self.attributes.items():
            if edges is not None and (not len(edges) or list(edges) != sorted(set(edges))):
                raise ValueError(f'balance.attributes.{name} must be edges in rising order, or None for texts and '
                                 f'truth values, got {edges!r}')
        for name, weights in self.shares.items():
            if name not in self.attributes:
                raise ValueError('balance.shares: ' + unknown_name(name, self.attributes, 'attribute'))
            edges = self.attributes[name]
            for label, weight in weights.items():
                if weight < 0:
                    raise ValueError(f'balance.shares.{name}: the weight of {label!r} is {weight}, less than 0')
                if edges is not None and label not in labels_of(edges):
                    raise ValueError(f'balance.shares.{name}: ' + unknown_name(label, labels_of(edges), 'bin'))

    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*([self.embedding] if self.embedding else []), *self.attributes]

    def check(self, columns: Mapping[str, Column]) -> None:
        """See that the columns there are can be balanced by.

        Raises:
            ValueError: naming the entry, if one is missing or holds something else.
        """
        if self.embedding is not None and (
                self.embedding not in columns or columns[self.embedding].holds != LIST
                or columns[self.embedding].type != 'float32'):
            raise ValueError(f'balance.embedding: no stage makes feature vectors called {self.embedding!r}. Add '
                             "dict(type='Embedding', ...) to the stages, or set balance.embedding=None to balance by "
                             'attributes alone')
        for name, edges in self.attributes.items():
            if name not in columns:
                raise ValueError('balance.attributes: ' + unknown_name(name, columns, 'column'))
            holds = columns[name].holds
            if holds in (LIST, OTHER):
                raise ValueError(f'balance.attributes.{name}: the column holds {holds} of each image, which has no '
                                 'bins')
            if edges is not None and holds != NUMBER:
                raise ValueError(f'balance.attributes.{name} must be None, got {edges!r}: the column holds {holds}')
            if edges is None and holds not in (TEXT, TRUTH):
                raise ValueError(f'balance.attributes.{name} must be edges of bins, such as [2, 5]: the column holds '
                                 f'{holds}')

    def notes(self, table: Any) -> list[str]:
        """Of bins in ``shares`` that no image is in, as a misspelt text is."""
        found = []
        for name, weights in self.shares.items():
            if self.attributes[name] is None:
                values = table.column(name).unique().to_pylist()
                labels = [UNKNOWN, *(str(value) for value in values if value is not None)]
                found += [f'balance.shares.{name}: no image is in this bin: {unknown_name(label, labels, "bin")}'
                          for label in weights if label not in labels]
        return found

    def __call__(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Positions that are kept, in order, and the coarsest cluster of each row (-1 without embedding)."""
        count = table.num_rows
        target = min(round(self.target * count) if self.target <= 1 else int(self.target), count)
        rng = np.random.default_rng(self.seed)
        levels: list[np.ndarray] = []
        if self.embedding and count:
            features = np.stack(table.column(self.embedding).to_numpy(zero_copy_only=False)).astype(np.float32)
            levels = hierarchy(features, self.clusters, rng)
        partitions = self.partitions(table)
        wanted = [(one.bins, filled(one.sizes, one.weights, target)) for one in partitions]
        if levels:
            wanted.append((levels[0], _filled_levels(levels, target)))
        chances = joint_chances(wanted, target)
        order = np.lexsort((rng.random(count), *(bins for bins, _ in wanted)))
        chosen = np.sort(order[systematic(chances[order], rng)])
        return chosen, levels[-1] if levels else np.full(count, -1)

    def partitions(self, table: Any) -> list[Partition]:
        """Of a table that has the columns of the attributes."""
        found = []
        for name, edges in self.attributes.items():
            values = table.column(name).to_pylist()
            labels, bins = labelled(values, edges)
            weights = np.array([self.shares.get(name, {}).get(label, 1.0) for label in labels])
            found.append(Partition(name, labels, bins, weights))
        return found


def labels_of(edges: Sequence[float]) -> list[str]:
    """Of what is not known, and of the bins between edges."""
    inner = [f'{low:g} to {high:g}' for low, high in zip(edges, edges[1:])]
    return [UNKNOWN, f'< {edges[0]:g}', *inner, f'>= {edges[-1]:g}']


def labelled(values: Sequence[Any], edges: Optional[Sequence[float]]) -> tuple[list[str], np.ndarray]:
    """Labels of bins, and the bin (N,) of each value; bin 0 is for those that are not known."""
    known, missing = known_values(values)
    bins = np.zeros(len(values), dtype=np.int64)
    if edges is not None:
        bins[~missing] = 1 + np.digitize(known, edges)
        return labels_of(edges), bins
    names, numbers = np.unique(known, return_inverse=True)
    bins[~missing] = 1 + numbers
    return [UNKNOWN, *map(str, names.tolist())], bins


def filled(sizes: np.ndarray, weights: np.ndarray, target: float) -> np.ndarray:
    """(B,) how many to take of bins of these sizes, as numbers with fractions that sum to ``target`` or all there is.

    They are in proportion to the weights, but for bins that have too few, of which all are taken. Of bins without
    weight some are taken only if nothing else is left.
    """
    taken = np.zeros(len(sizes))
    target = min(target, float(sizes.sum()))
    for group in (weights > 0, weights <= 0):
        left = target - taken.sum()
        is_open = group & (sizes > 0)
        scale = np.where(weights > 0, weights, 1.0)
        while left > 1e-9 and is_open.any():
            each = left / scale[is_open].sum()
            full = is_open & (sizes <= each * scale)
            if not full.any():
                taken[is_open] = each * scale[is_open]
                break
            taken[full] = sizes[full]
            left -= sizes[full].sum()
            is_open &= ~full
    return taken


def _filled_levels(levels: Sequence[np.ndarray], target: float) -> np.ndarray:
    """How many to take of each of the finest clusters, when clusters share equally at each level."""
    counts = [int(level.max()) + 1 for level in levels]
    goals = filled(np.bincount(levels[-1]), np.ones(counts[-1]), target)
    for coarse, fine, count in zip(levels[:0:-1], levels[-2::-1], counts[-2::-1]):
        sizes, parent = np.bincount(fine, minlength=count), np.zeros(count, dtype=np.int64)
        parent[fine] = coarse
        below = np.zeros(count)
        for number, goal in enumerate(goals):
            members = np.flatnonzero(parent == number)
            below[members] = filled(sizes[members], np.ones(len(members)), goal)
        goals = below
    return goals


def joint_chances(wanted: Sequence[tuple[np.ndarray, np.ndarray]], target: float) -> np.ndarray:
    """(N,) chance of each image to be kept, that sum to ``target``.

    Args:
        wanted: bin (N,) of each image, and images to keep (B,) of each bin; of each attribute.
        target: images to keep.
    """
    count = len(wanted[0][0])
    chances = np.full(count, target / max(count, 1))
    for _ in range(_STEPS):
        factors = np.ones(count)
        for bins, goals in wanted:
            sums = np.bincount(bins, chances, minlength=len(goals))
            factors *= (goals / np.maximum(sums, 1e-12))[bins]
        new = _capped(chances * factors**(1 / len(wanted)), target)
        if np.abs(new - chances).max(initial=0) < _TOLERANCE:
            return new
        chances = new
    return chances


def _capped(chances: np.ndarray, target: float) -> np.ndarray:
    """In proportion to ``chances``, none above 1, that sum to ``target``, which is at most their number."""
    order = np.argsort(-chances)
    falling = chances[order]
    rest = np.cumsum(falling[::-1])[::-1]  # of each and all smaller ones
    scales = (target - np.arange(len(order))) / np.maximum(rest, 1e-300)  # if so many are capped
    fits = np.flatnonzero((falling * scales <= 1 + 1e-9) & (scales >= 0))
    if not len(fits):
        return np.ones(len(chances))
    return np.minimum(chances * scales[fits[0]], 1)


def systematic(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions of a sample that takes each with its chance; of any that follow each other as many as these sum to."""
    steps = np.floor(np.cumsum(chances) + rng.random() * (1 - 1e-9) + 1e-9)
    total = round(float(chances.sum()))
    chosen = np.flatnonzero(np.diff(steps, prepend=0.0) >= 1)
    return chosen[:total]
