"""How the draws of a run are shared between data sets, in a form that can be taken up at any position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

import numpy as np

# Draws that are shared out, and shuffled, together. When a block is over, every data set has had its share of all draws
# so far to within one or two. Any 1000 draws in a row are 61 or 62 whole blocks and parts of two, so that no share is
# off by more than 1 %.
BLOCK = 16


class Mixture:
    """Which data set the draw at a position comes from, and how many draws of that set are before it.

    Nothing is kept from draw to draw: both follow from the position, so a run can go on anywhere without a loop over
    what is behind. The shares of a block are differences of rounded running totals; its order is from (seed, block).

    Args:
        weights: positive share of each data set; they need not add up to 1.
        seed: of the run.
    """

    def __init__(self, weights: Sequence[float], seed: int) -> None:
        self.seed = seed
        self.weights = [float(weight) for weight in weights]
        # Each data set but the last takes this part of the draws that those before it have left.
        self._parts = [weight / sum(self.weights[i:]) for i, weight in enumerate(self.weights[:-1])]
        self._block: Optional[int] = None
        self._sources = self._numbers = np.empty(0, dtype=int)

    def _totals(self, draws: int) -> list[int]:
        """Draws of each data set among the first ``draws``; they add up, and none ever falls."""
        totals, left = [], draws
        for part in self._parts:
            totals.append(math.floor(left * part))
            left -= totals[-1]
        return [*totals, left]

    def at(self, position: int) -> tuple[int, int]:
        """The data set that draw ``position`` comes from, and the number of its draws before."""
        if len(self.weights) == 1:
            return 0, position
        block, place = divmod(position, BLOCK)
        if block != self._block:
            self._fill(block)
        return int(self._sources[place]), int(self._numbers[place])

    def _fill(self, block: int) -> None:
        """Lay out one block."""
        before, after = self._totals(block * BLOCK), self._totals((block + 1) * BLOCK)
        sources = np.repeat(np.arange(len(before)), np.subtract(after, before))
        self._sources = np.random.default_rng([self.seed, block]).permutation(sources)
        self._numbers = np.empty(BLOCK, dtype=int)
        for source, count in enumerate(before):
            mine = self._sources == source
            self._numbers[mine] = count + np.arange(mine.sum())
        self._block = block
