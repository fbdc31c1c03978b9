"""Where the template's head lies on a person's unposed body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapiens2.synth.people.surfaces import Surfaces


@dataclass(frozen=True)
class HeadFrame:
    """Where the template's head lies on this person's unposed body: scale and shift (3,)."""

    scale: np.ndarray
    shift: np.ndarray

    def place(self, base: np.ndarray) -> np.ndarray:
        """(N, 3) points of the template's head on this body."""
        return base * self.scale + self.shift


def head_frame(surfaces: Surfaces, vertices: np.ndarray) -> HeadFrame:
    """The frame of the head, by the extent of the scalp along the axes."""
    base, rest = surfaces.scalp.place.base, surfaces.scalp.points(vertices)
    scale = np.ptp(rest, axis=0) / np.ptp(base, axis=0)
    return HeadFrame(scale, (rest.max(0) + rest.min(0)) / 2 - scale * (base.max(0) + base.min(0)) / 2)
