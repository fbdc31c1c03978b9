"""Orders of one pass through a data set, as functions of place: no part of one is made before it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional, Protocol

import numpy as np


class Locality(NamedTuple):
    """Which samples lie together on a disk, and over how many such groups an order is to mix.

    Attributes:
        sizes: (groups,) number of samples of each; group g holds those after the ones of groups 0 to g - 1.
        window: groups from which samples are drawn at a time.
    """

    sizes: np.ndarray
    window: int


class Order(Protocol):
    """Gives the sample at a place."""

    def __getitem__(self, place: int) -> int:
        """The sample at ``place``, from 0 on."""


class WindowedOrder:
    """Every sample once: groups in random order, and samples in random order within each ``window`` of groups.

    So no more files than a window's are read at a time, while neighbouring draws still come from different ones. The
    order of a window is made when it is entered: memory is that of a window, not of the data set.

    Args:
        locality: the groups.
        seed: words of the seed of this order.
    """

    def __init__(self, locality: Locality, seed: Sequence[int]) -> None:
        self.locality, self.seed = locality, list(seed)
        groups = np.random.default_rng(self.seed).permutation(len(locality.sizes))
        self._windows = [groups[start:start + locality.window] for start in range(0, len(groups), locality.window)]
        self._first = np.cumsum([0, *locality.sizes])  # sample of each group
        self._ends = np.cumsum([locality.sizes[window].sum() for window in self._windows])
        self._current: Optional[int] = None
        self._start, self._samples = 0, np.empty(0, dtype=np.int64)

    def __getitem__(self, place: int) -> int:
        """The sample at ``place``."""
        if not 0 <= place < self._ends[-1]:
            raise IndexError(f'place {place} of an order of {self._ends[-1]} samples')
        number = int(np.searchsorted(self._ends, place, side='right'))
        if number != self._current:
            self._enter(number)
        return int(self._samples[place - self._start])

    def _enter(self, number: int) -> None:
        members = np.concatenate([np.arange(self._first[group], self._first[group + 1])
                                  for group in self._windows[number]])
        self._samples = np.random.default_rng([*self.seed, number]).permutation(members)
        self._start = int(self._ends[number]) - len(members)
        self._current = number
