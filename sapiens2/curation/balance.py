"""Flatten a distribution: keep all of what is rare, and a part of what is frequent.

Strata are clusters of embeddings, found by k-means in levels as in Vo et al., "Automatic data curation for
self-supervised learning: a clustering-based approach" (2024), crossed with bins of attributes. Of each stratum at most
so many are kept that the total is what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

# Rows whose distances to all centres are held at a time.
_ROWS = 8192


class Balance:
    """Samples so that strata become equally frequent, as far as there are images.

    Args:
        target: images to keep; a share of what is there if at most 1.
        embedding: column of feature vectors; None takes attributes alone.
        clusters: of each level, from the finest to the coarsest.
        attributes: column -> edges of bins; a value that is missing is a bin of its own. Texts and truth values are
            bins as they are, with edges None.
        seed: of clusters and choice.
    """

    def __init__(self, target: float = 0.5, embedding: Optional[str] = 'embedding', clusters: Sequence[int] = (256, 32),
                 attributes: Optional[Mapping[str, Optional[Sequence[float]]]] = None, seed: int = 0) -> None:
        if target <= 0:
            raise ValueError(f'balance.target must be more than 0, got {target}')
        if embedding is None and not attributes:
            raise ValueError('balance needs an embedding, or attributes, to balance by')
        self.target, self.embedding, self.clusters = target, embedding, list(clusters)
        self.attributes = dict(attributes or {})
        self.seed = seed

    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*([self.embedding] if self.embedding else []), *self.attributes]

    def __call__(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Positions that are kept, in order, and the coarsest cluster of each row (-1 without embedding)."""
        count = table.num_rows
        rng = np.random.default_rng(self.seed)
        levels = []
        if self.embedding and count:
            features = np.stack(table.column(self.embedding).to_numpy(zero_copy_only=False)).astype(np.float32)
            levels = hierarchy(features, self.clusters, rng)
        bins = [binned(table.column(name).to_pylist(), edges) for name, edges in self.attributes.items()]
        target = round(self.target * count) if self.target <= 1 else int(self.target)
        chosen = sample_levels(levels, bins, min(target, count), rng)
        return chosen, levels[-1] if levels else np.full(count, -1)


def binned(values: Sequence[Any], edges: Optional[Sequence[float]]) -> np.ndarray:
    """(N,) bin of each value: 0 for a missing one, else 1 and on."""
    missing = np.array([value is None or value != value for value in values], dtype=bool)
    known = np.array([value for value, lacks in zip(values, missing) if not lacks])
    bins = np.zeros(len(values), dtype=np.int64)
    if len(known):
        bins[~missing] = 1 + (np.unique(known, return_inverse=True)[1] if edges is None else np.digitize(known, edges))
    return bins


def hierarchy(features: np.ndarray, clusters: Sequence[int], rng: np.random.Generator) -> list[np.ndarray]:
    """Cluster (N,) of each row of (N, C) at each level; a level clusters the centres of the one before."""
    rows = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    levels: list[np.ndarray] = []
    for wanted in clusters:
        count = min(wanted, len(rows))
        labels, rows = kmeans(rows, count, rng)
        levels.append(labels if not levels else labels[levels[-1]])
    return levels


def kmeans(rows: np.ndarray, count: int, rng: np.random.Generator, steps: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """Cluster (N,) of each row, and the centres (count, C); begun as k-means++ (Arthur and Vassilvitskii, 2007)."""
    squares = (rows**2).sum(axis=1)
    centres = rows[[rng.integers(len(rows))]]
    nearest = np.full(len(rows), np.inf)
    while len(centres) < count:
        nearest = np.minimum(nearest, np.maximum(squares - 2 * rows @ centres[-1] + (centres[-1]**2).sum(), 0))
        total = nearest.sum()
        weights = nearest / total if total > 0 else np.full(len(rows), 1 / len(rows))
        centres = np.vstack((centres, rows[rng.choice(len(rows), p=weights)]))
    labels = np.full(len(rows), -1)
    for _ in range(steps):
        new = np.concatenate([
            np.argmin((centres**2).sum(axis=1) - 2 * rows[first:first + _ROWS] @ centres.T, axis=1)
            for first in range(0, len(rows), _ROWS)])
        if (new == labels).all():
            break
        labels = new
        sizes = np.bincount(labels, minlength=count)
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, rows)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return labels, centres


def quotas(sizes: np.ndarray, target: int) -> np.ndarray:
    """How many to take of groups of these sizes: the same of each, but no more than it has; ``target`` in all."""
    target = min(target, int(sizes.sum()))
    taken = np.zeros_like(sizes)
    while (left := target - int(taken.sum())) > 0:
        open_groups = np.flatnonzero(taken < sizes)
        each = max(left // len(open_groups), 1)
        for group in open_groups[:left if left < len(open_groups) else None]:
            taken[group] += min(each, sizes[group] - taken[group])
    return taken


def sample_levels(levels: Sequence[np.ndarray], bins: Sequence[np.ndarray], target: int,
                  rng: np.random.Generator) -> np.ndarray:
    """Positions, in order, of ``target`` rows: groups share equally at each level, from the coarsest; last, bins do."""
    count = len((*levels, *bins)[0])
    order = [*reversed(levels)]
    if bins:
        order.append(np.unique(np.column_stack(bins), axis=0, return_inverse=True)[1].ravel())

    def sample(rows: np.ndarray, depth: int, wanted: int) -> np.ndarray:
        if depth == len(order):
            return rng.permutation(rows)[:wanted]
        groups = order[depth][rows]
        names, sizes = np.unique(groups, return_counts=True)
        shares = quotas(sizes, wanted)
        return np.concatenate([sample(rows[groups == name], depth + 1, share)
                               for name, share in zip(names, shares) if share] or [rows[:0]])

    return np.sort(sample(np.arange(count), 0, target))
