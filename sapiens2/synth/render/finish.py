"""What a point's material looks like: albedo, gloss, bumps. Nothing here knows the light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapiens2.synth.render.vectors import joined, put_rows, rows
from sapiens2.synth.scene import Material


@dataclass
class Finish:
    """Looks of N points.

    Attributes:
        albedo: (N, 3) float32 linear RGB.
        roughness: (N,) float32, 0 (mirror) to 1 (matt).
        specular: (N,) float32 reflectance at normal incidence.
        bump: (N, 3) float32, added to the unit normal for shading only.
        scatter: (N,) float32, 1 where light spreads below the surface as in skin.
        strand: (N, 3) float32 unit direction of hair in the world, 0 elsewhere.
    """

    albedo: np.ndarray
    roughness: np.ndarray
    specular: np.ndarray
    bump: np.ndarray
    scatter: np.ndarray
    strand: np.ndarray

    @classmethod
    def empty(cls, count: int) -> Finish:
        """Nothing but zeros."""
        return cls(*(np.zeros((count, 3) if wide else count, np.float32, order='F') for wide in (1, 0, 0, 1, 0, 1)))

    def select(self, index: np.ndarray | slice) -> Finish:
        """Some of the points."""
        return Finish(**{name: rows(values, index) for name, values in vars(self).items()})

    @classmethod
    def join(cls, parts: Sequence[Finish]) -> Finish:
        """The points of all parts, in order."""
        return cls(**{name: joined([getattr(part, name) for part in parts]) for name in vars(parts[0])})

    def put(self, index: np.ndarray, part: Finish) -> None:
        """Set the points ``index`` to those of ``part``."""
        for name, values in vars(part).items():
            put_rows(getattr(self, name), index, values)


def plain(material: Material, count: int) -> Finish:
    """A finish of the material's own numbers everywhere."""
    part = Finish.empty(count)
    part.albedo[:] = material.color
    part.roughness[:] = material.roughness
    part.specular[:] = material.specular
    return part
