"""Light from all around, given as a map of radiance by direction: what surfaces receive and reflect of it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sapiens2.synth.render.vectors import Quads, put_rows, rows

# Rows of the small map that diffuse light and dull reflections are computed from.
COARSE = 12


@lru_cache(maxsize=8)
def map_directions(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions (rows * 2 rows, 3) of a map's pixels and solid angles (rows * 2 rows,) of them, steradians."""
    polar = (np.arange(rows) + 0.5) * np.pi / rows
    azimuth = ((np.arange(2 * rows) + 0.5) / rows - 1) * np.pi
    polar, azimuth = np.meshgrid(polar, azimuth, indexing='ij')
    directions = np.stack([np.sin(polar) * np.sin(azimuth), np.cos(polar), np.sin(polar) * np.cos(azimuth)], -1)
    return directions.reshape(-1, 3).astype(np.float32), (np.sin(polar) * (np.pi / rows)**2).ravel().astype(np.float32)


class Map:
    """Radiance by direction.

    Args:
        radiance: (h, 2 h, 3) float32 linear, as in ``Surroundings.environment``.
    """

    def __init__(self, radiance: np.ndarray) -> None:
        self._rows = radiance.shape[0]
        self._table = Quads(radiance.reshape(-1, 3))

    def at(self, directions: np.ndarray) -> np.ndarray:
        """(N, 3) radiance in directions (N, 3), bilinear."""
        count = self._rows
        y = np.arccos(np.clip(directions[:, 1], -1, 1)) * np.float32(count / np.pi) - np.float32(0.5)
        x = (np.arctan2(directions[:, 0], directions[:, 2]) * np.float32(1 / np.pi) + 1) * np.float32(count)
        x -= np.float32(0.5)
        x_floor, y_floor = np.floor(x), np.floor(y)
        tx, ty = np.repeat(x - x_floor, 4), np.repeat(y - y_floor, 4)
        x0 = x_floor.astype(np.int32) % (2 * count)
        x1 = (x0 + 1) % (2 * count)
        y0 = np.maximum(y_floor.astype(np.int32), 0)
        y1 = np.minimum(y0 + 1, count - 1) * (2 * count)
        y0 *= 2 * count
        table = self._table
        top = table.mix(table.at(y0 + x0), table.at(y0 + x1), tx)
        bottom = table.mix(table.at(y1 + x0), table.at(y1 + x1), tx)
        return table.columns(table.mix(top, bottom, ty))


class Ambient:
    """What surfaces receive from an environment.

    Args:
        radiance: (h, 2 h, 3) float32 linear, as in ``Surroundings.environment``.
    """

    def __init__(self, radiance: np.ndarray) -> None:
        self.map = Map(radiance)
        coarse = _shrink(radiance, COARSE)
        directions, angles = map_directions(coarse.shape[0])
        weighted = coarse.reshape(-1, 3) * angles[:, None]
        # R. Ramamoorthi, P. Hanrahan, An efficient representation for irradiance environment maps, SIGGRAPH 2001.
        band = np.array([np.pi] + [2 * np.pi / 3] * 3 + [np.pi / 4] * 5, np.float32)
        self._harmonics = (_harmonics(directions) @ weighted).T * band
        cosine = np.maximum(directions @ directions.T, 0)
        lobe = (cosine**24 * angles).astype(np.float32)
        self._dull = Map((lobe @ coarse.reshape(-1, 3) / lobe.sum(1, keepdims=True)).reshape(coarse.shape))

    def irradiance(self, normals: np.ndarray) -> np.ndarray:
        """(N, 3) light that surfaces of normals (N, 3) receive, divided by pi: a white matt surface's radiance."""
        return (np.maximum(self._harmonics @ _harmonics(normals), 0) * np.float32(1 / np.pi)).T

    def reflection(self, directions: np.ndarray, roughness: np.ndarray) -> np.ndarray:
        """(N, 3) radiance around directions (N, 3), the wider the rougher (N,)."""
        result = self.irradiance(directions)
        for limit, span, radiance in ((0.6, 0.15, self._dull), (0.35, 0.25, self.map)):
            glossy = np.flatnonzero(roughness < limit)
            if len(glossy):
                weight = np.minimum((limit - roughness[glossy]) / span, 1)[:, None]
                dull = rows(result, glossy)
                put_rows(result, glossy, dull + weight * (radiance.at(rows(directions, glossy)) - dull))
        return result


def _shrink(radiance: np.ndarray, rows: int) -> np.ndarray:
    """The map at ``rows`` rows, which divide its own, each pixel the mean of those it covers."""
    h, w = radiance.shape[:2]
    return radiance.reshape(rows, h // rows, 2 * rows, w // (2 * rows), 3).mean((1, 3))


def _harmonics(directions: np.ndarray) -> np.ndarray:
    """(9, N) real spherical harmonics up to order 2 of unit vectors (N, 3)."""
    x, y, z = directions.T
    basis = np.empty((9, len(directions)), np.float32)
    basis[0] = 0.282095
    basis[1:4] = 0.488603 * directions.T
    np.multiply(x, y, out=basis[4])
    np.multiply(y, z, out=basis[5])
    np.multiply(x, z, out=basis[6])
    basis[4:7] *= 1.092548
    basis[7] = 0.315392 * (3 * z * z - 1)
    basis[8] = 0.546274 * (x * x - y * y)
    return basis
