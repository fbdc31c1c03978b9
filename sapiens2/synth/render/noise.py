"""Smooth noise in space, which all textures are made of."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import Quads

SIZE = 32
CHANNELS = 4


@lru_cache(maxsize=1)
def _table() -> Quads:
    """Values in [-1, 1], the same in every process: the look must not depend on the run."""
    return Quads(np.random.default_rng(20240607).uniform(-1, 1, (SIZE**3, CHANNELS)).astype(np.float32))


def noise(points: np.ndarray, period: float, seed: int = 0) -> np.ndarray:
    """Value noise: random values on a grid, smoothly interpolated; it repeats after 32 periods.

    Args:
        points: (N, 3) float32, metres.
        period: metres between grid points.
        seed: shifts the grid.

    Returns:
        (N, 4) float32, four independent noises in [-1, 1].
    """
    shift = np.random.default_rng(seed).uniform(0, SIZE, 3).astype(np.float32)
    scaled = points * np.float32(1 / period) + shift
    floor = np.floor(scaled)
    t = scaled - floor
    t *= t * (3 - 2 * t)
    low = floor.astype(np.int32) & (SIZE - 1)
    high = (low + 1) & (SIZE - 1)
    (x0, y0, z0), (x1, y1, z1) = low.T, high.T
    x0, x1, y0, y1 = x0 * (SIZE * SIZE), x1 * (SIZE * SIZE), y0 * SIZE, y1 * SIZE
    table = _table()
    tx, ty, tz = (np.repeat(t[:, i], CHANNELS) for i in range(3))

    def along_z(row: np.ndarray) -> np.ndarray:
        return table.mix(table.at(row + z0), table.at(row + z1), tz)

    start = table.mix(along_z(x0 + y0), along_z(x0 + y1), ty)
    end = table.mix(along_z(x1 + y0), along_z(x1 + y1), ty)
    return table.columns(table.mix(start, end, tx))


def fractal(points: np.ndarray, period: float, octaves: int, seed: int = 0) -> np.ndarray:
    """(N, 4) float32: ``noise`` summed over octaves of half the period and half the strength each, within [-1, 1]."""
    total = noise(points, period, seed)
    weight = 1.0
    for octave in range(1, octaves):
        total += 0.5**octave * noise(points, period * 0.5**octave, seed + octave)
        weight += 0.5**octave
    return total * np.float32(1 / weight)


def noise_from_near(surface: Surface, period: float, seed: int,
                    stretch: tuple[float, float, float] = (1, 1, 1)) -> np.ndarray:
    """(N, 4) ``noise`` at the rest place of points, fading out where a pixel covers half to one of its periods.

    Args:
        surface: N points.
        period: metres.
        seed: of the noise.
        stretch: factors of the axes; a small one makes the noise long in that direction.
    """
    seen = smoothstep(period, 0.4 * period, surface.footprint)
    if not seen.any():
        return np.zeros((len(seen), CHANNELS), np.float32, order='F')
    place = surface.rest if stretch == (1, 1, 1) else surface.rest * np.float32(stretch)
    return noise(place, period, seed) * seen[:, None]


def smoothstep(low: float, high: float, value: np.ndarray) -> np.ndarray:
    """0 below ``low``, 1 above ``high``, smooth between them; with ``low`` above ``high`` the other way round."""
    t = np.clip((value - low) * np.float32(1 / (high - low)), 0, 1)
    return t * t * (3 - 2 * t)
