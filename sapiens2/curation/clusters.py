"""Clusters of vectors in levels, by k-means of k-means' centres.

Vo et al., "Automatic data curation for self-supervised learning: a clustering-based approach" (2024).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Rows whose distances to all centres are held at a time.
_ROWS = 8192


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
