"""Find pictures that are nearly the same among very many.

Candidates share a band: a random choice of bits of the 64-bit hash (bit sampling; Indyk and Motwani, "Approximate
nearest neighbors", 1998). There are so many bits in a band that few of all hashes share one by chance, so the work
grows with n log n; there are so many bands that hashes a few bits apart share at least one. Candidates are then
compared by all 256 bits, and groups are the connected components of what is close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sapiens2.curation.stages.hashes import key_bits, mirrored

# Bits of a band beyond log2 of the number of hashes: for pictures whose hashes crowd together.
_SPARE_BITS = 2
_LEAST_BITS = 12
# Pictures, whose four hashes are numbered with 32 bits.
_MOST = 2**30
# Hashes with one band are sorted, and each is compared with so many that follow.
_REACH = 32
# An odd number without a pattern (the golden ratio): multiplied by it, all bits count in the upper half.
_MIX, _HALF, _LOWER = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class NearDuplicates:
    """How near is near.

    Args:
        distance: bits of 256 that may differ.
        bands: more find more, and take longer.
        mirrored: whether a picture and its mirror image count as the same.
        seed: of the choice of bits.
    """

    distance: int = 60
    bands: int = 48
    mirrored: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.distance < 128 or self.bands < 1:
            raise ValueError(f'near duplicates: distance must lie in [0, 127] and bands be at least 1, got '
                             f'{self.distance} and {self.bands}')

    def pairs(self, whole: np.ndarray, inner: np.ndarray,
              progress: Optional[Callable[[int, int], None]] = None) -> np.ndarray:
        """Pairs of near pictures, (P, 2) int64 positions, the smaller first, each pair once, in order.

        Args:
            whole: hashes (N, 32) uint8 of the pictures.
            inner: hashes of their inner parts.
            progress: is told how many bands are done, of how many.
        """
        count = len(whole)
        if count > _MOST:
            raise ValueError(f'{count:,} pictures are more than {_MOST:,}, which can be compared at a time')
        variants = [whole, inner] + ([mirrored(whole), mirrored(inner)] if self.mirrored else [])
        keys = np.concatenate([key_bits(hashes) for hashes in variants])
        words = [np.ascontiguousarray(hashes).view(np.uint64) for hashes in variants]
        found = [np.empty((0, 2), dtype=np.int64)]
        for number, band in enumerate(self._bands(count)):
            for one, other in _sharing(keys & band):
                found.append(self._near(one, other, words, count))
            if len(found) > 2 * self.bands:
                found = [np.unique(np.concatenate(found), axis=0)]
            if progress is not None:
                progress(number + 1, self.bands)
        return np.unique(np.concatenate(found), axis=0)

    def _bands(self, count: int) -> Iterator[np.uint64]:
        """Masks of the bits of each band. The lowest frequency, the mean, has one sign always."""
        bits = min(63, max(_LEAST_BITS, math.ceil(math.log2(max(count, 2))) + _SPARE_BITS))
        rng = np.random.default_rng(self.seed)
        for _ in range(self.bands):
            yield np.bitwise_or.reduce(np.uint64(1) << rng.choice(63, bits, replace=False).astype(np.uint64))

    def _near(self, one: np.ndarray, other: np.ndarray, words: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Of candidates among the variants, the pairs of pictures that are near."""
        variant_one, variant_other = one // count, other // count
        # One of the two must be a whole, unturned picture; two inner parts, or two mirrored ones, say nothing new.
        useful = (np.minimum(variant_one, variant_other) == 0) & (one % count != other % count)
        one, other, variant_one, variant_other = (
            values[useful] for values in (one % count, other % count, variant_one, variant_other))
        near = np.zeros(len(one), dtype=bool)
        for first in range(len(words)):
            for second in range(len(words)):
                chosen = np.flatnonzero((variant_one == first) & (variant_other == second))
                if len(chosen):
                    differing = words[first][one[chosen]] ^ words[second][other[chosen]]
                    near[chosen] = np.bitwise_count(differing).sum(axis=1, dtype=np.int64) <= self.distance
        return np.sort(np.column_stack((one[near], other[near])), axis=1)


def _sharing(bands: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions that have one band: each with the ``_REACH`` that come next."""
    # The upper half mixes the bits of the band, the lower one is the position: one sort of plain numbers.
    positions = np.arange(len(bands), dtype=np.uint64)
    ranked = np.sort((bands * _MIX >> _HALF) << _HALF | positions)
    marks, order = (ranked >> _HALF).astype(np.uint32), (ranked & _LOWER).astype(np.int64)
    alive = np.arange(len(order))
    for step in range(1, _REACH + 1):
        alive = alive[:np.searchsorted(alive, len(order) - step)]
        alive = alive[marks[alive] == marks[alive + step]]
        if not len(alive):
            return
        yield order[alive], order[alive + step]


def groups_of(pairs: np.ndarray, count: int) -> np.ndarray:
    """(N,) number of the group of each picture: those that pairs connect are one."""
    ones = np.ones(len(pairs), dtype=bool)
    return connected_components(coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(count, count)), directed=False)[1]


def best_of_groups(groups: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """(N,) for each picture the position of the one that its group keeps: the best, of equal ones the first."""
    order = np.lexsort((np.arange(len(groups)), -quality, groups))
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = groups[order][1:] != groups[order][:-1]
    best = np.empty(len(groups), dtype=np.int64)
    best[order] = order[starts][np.cumsum(starts) - 1]
    return best
