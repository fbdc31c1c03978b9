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

from sapiens2.curation.arguments import Count, NotNegative
from sapiens2.curation.stages.hashes import key_bits, mirrored

# Bits of a band beyond log2 of the number of hashes: for pictures whose hashes crowd together.
_SPARE_BITS = 2
_LEAST_BITS = 12
# Pictures, whose four hashes are numbered with 32 bits.
MOST = 2**30
# Hashes with one band are sorted, and each is compared with so many that follow.
_REACH = 32
# An odd number without a pattern (the golden ratio): multiplied by it, all bits count in the upper half.
_MIX, _LOWER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFFFFFF)
# What turns the keys, and the words of hashes, into those of the mirrored pictures.
_MIRRORED = mirrored(np.zeros((1, 8), dtype=np.uint8)).view(np.uint64)[0, 0]
# Numbers that are handled at a time where that saves memory.
_PIECE = 1 << 20


@dataclass(frozen=True)
class NearDuplicates:
    """How near is near.

    Args:
        distance: bits of 256 that may differ.
        bands: more find more, and take longer.
        mirrored: whether a picture and its mirror image count as the same.
        seed: of the choice of bits.
    """

    distance: NotNegative = 60
    bands: Count = 48
    mirrored: bool = True
    seed: NotNegative = 0

    def __post_init__(self) -> None:
        if not 0 <= self.distance < 128 or self.bands < 1:
            raise ValueError(f'near_duplicates.distance must lie in [0, 127], and bands be at least 1, got '
                             f'{self.distance} and {self.bands}')

    def pairs(self, whole: np.ndarray, inner: np.ndarray,
              progress: Optional[Callable[[int, int], None]] = None) -> np.ndarray:
        """Pairs of near pictures, (P, 2) int64 positions, the smaller first, each pair once, in order.

        Of pictures with equal hashes the others are paired with the first alone: groups are what counts.

        Args:
            whole: hashes (N, 32) uint8 of the pictures.
            inner: hashes of their inner parts.
            progress: is told how many bands are done, of how many.
        """
        count = len(whole)
        if count > MOST:
            raise ValueError(f'{count:,} pictures are more than {MOST:,}, which can be compared at a time')
        # Pictures with the same hashes, of which there may be very many, are paired with the first of them alone.
        first = _first_equal(whole, inner)
        alone = np.flatnonzero(first == np.arange(count))
        equal = np.flatnonzero(first != np.arange(count))
        if len(equal):  # else nothing is copied
            whole, inner = whole[alone], inner[alone]
        others = self._pairs_of_different(whole, inner, progress)
        return np.unique(np.concatenate((alone[others], np.column_stack((first[equal], equal)))), axis=0)

    def _pairs_of_different(self, whole: np.ndarray, inner: np.ndarray,
                            progress: Optional[Callable[[int, int], None]]) -> np.ndarray:
        """``pairs`` of pictures of which no two have the same hashes."""
        count = len(whole)
        keys = np.concatenate([key_bits(hashes) for hashes in (whole, inner)])
        if self.mirrored:
            keys = np.concatenate((keys, keys ^ _MIRRORED))
        words = [np.ascontiguousarray(hashes).view(np.uint64) for hashes in (whole, inner)]
        found = [np.empty((0, 2), dtype=np.int64)]
        for number, band in enumerate(self._bands(count)):
            for one, other in _sharing(keys, band):
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
        # One of the two must be a whole, unturned picture; two inner parts, or two mirrored ones, say nothing new.
        useful = np.minimum(one, other) < count
        one, other = np.minimum(one, other)[useful], np.maximum(one, other)[useful]
        variant, other = np.divmod(other, count)
        near = np.zeros(len(one), dtype=bool)
        for number in range(len(words) * (1 + self.mirrored)):
            chosen = np.flatnonzero((variant == number) & (one != other))
            differing = words[0][one[chosen]] ^ words[number % len(words)][other[chosen]]
            if number >= len(words):
                differing ^= _MIRRORED
            near[chosen] = np.bitwise_count(differing).sum(axis=1, dtype=np.int64) <= self.distance
        return np.sort(np.column_stack((one[near], other[near])), axis=1)


def _first_equal(whole: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """(N,) the first picture that has the same hashes."""
    mark = np.zeros(len(whole), dtype=np.uint64)
    for hashes in (whole, inner):
        for word in np.ascontiguousarray(hashes).view(np.uint64).T:
            mark = (mark ^ word) * _MIX
            mark ^= mark >> np.uint64(29)
    _, firsts, places = np.unique(mark, return_index=True, return_inverse=True)
    first = firsts[places]
    # Different hashes with one mark are as good as never seen; such pictures stay alone.
    same = (whole == whole[first]).all(axis=1) & (inner == inner[first]).all(axis=1)
    return np.where(same, first, np.arange(len(whole)))


def _sharing(keys: np.ndarray, band: np.uint64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of keys that have one band: each with the ``_REACH`` that come next."""
    # The upper half mixes the bits of the band, the lower one is the position: one sort of plain numbers, in the memory
    # of one copy of the keys.
    ranked = keys & band
    ranked *= _MIX
    ranked &= ~_LOWER
    for first in range(0, len(ranked), _PIECE):
        piece = ranked[first:first + _PIECE]
        piece |= np.arange(first, first + len(piece), dtype=np.uint64)
    ranked.sort()
    # Those that share the band with the next one; later steps look at what is left of them.
    alive = np.concatenate([np.empty(0, dtype=np.int64), *(
        first + np.flatnonzero(_share(ranked[first:first + _PIECE + 1][:-1], ranked[first + 1:first + 1 + _PIECE]))
        for first in range(0, len(ranked) - 1, _PIECE))])
    for step in range(1, _REACH + 1):
        if step > 1:
            alive = alive[:np.searchsorted(alive, len(ranked) - step)]
            alive = alive[_share(ranked[alive], ranked[alive + step])]
        if not len(alive):
            return
        yield (ranked[alive] & _LOWER).astype(np.int64), (ranked[alive + step] & _LOWER).astype(np.int64)


def _share(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether the upper halves are equal."""
    return (one ^ other) <= _LOWER


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
