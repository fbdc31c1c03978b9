"""One sample drawn in a run, and the random state that belongs to it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np


class Draw(NamedTuple):
    """Sample ``index`` of a data set, drawn as number ``position`` of a run that was seeded with ``seed``."""

    index: int
    position: int  # counts the draws of all processes together
    seed: int = 0


@contextmanager
def random_state(seed: int, position: int) -> Iterator[None]:
    """Seed ``random`` and ``numpy.random`` for one draw; the states of before are restored afterwards.

    What augmentation a draw gets thus depends on neither the worker that makes it nor what was drawn before.
    """
    before, before_numpy = random.getstate(), np.random.get_state()
    words = np.random.SeedSequence([seed, position]).generate_state(4)
    random.seed(words.tobytes())
    np.random.seed(words)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)
