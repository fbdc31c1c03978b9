"""What readers of films and of cameras have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Optional

import numpy as np

# Of films that name no other: 1/90000 s, as television has it.
TICK = Fraction(1, 90_000)


@dataclass(frozen=True)
class Frame:
    """One frame.

    Attributes:
        number: from 0, counted in the whole film.
        time: seconds from the beginning of the film, exact.
        pixels: (H, W, 3) uint8 BGR, upright.
    """

    number: int
    time: Fraction
    pixels: np.ndarray


@dataclass
class Reader(ABC):
    """Frames of one video.

    Attributes:
        name: for messages.
        rate: frames a second on average; None if the video does not say.
        tick: seconds; all times are multiples of it, or nearly.
        count: how many frames there are, as far as known.
        aspect: width of a pixel over its height, of the upright frame.
        has_audio: whether there is sound that a film could keep.
        problems: what is wrong with the video, found while reading.
    """

    name: str
    rate: Optional[Fraction] = None
    tick: Fraction = TICK
    count: Optional[int] = None
    aspect: Fraction = Fraction(1)
    has_audio: bool = False
    problems: list[str] = field(default_factory=list)

    @abstractmethod
    def frames(self, first: int = 0, every: int = 1, start: float = 0.0, end: Optional[float] = None
               ) -> Iterator[Frame]:
        """Each ``every``-th frame from number ``first`` and from time ``start``, before ``end``."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the video."""
