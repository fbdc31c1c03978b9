"""Shadows and ambient occlusion: one ray a point, in a pattern of 4 x 4 pixels, then smoothed along surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render.rays import Caster
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import columns, dot, outer, rows
from sapiens2.synth.scene import Light

# Side of the pattern. The smoothing weights 1 2 2 2 1 give each of its columns and rows the same weight.
TILE = 4
# Neighbouring pixels show an edge where their tangent planes are apart by more than 1 / EDGE sides of a pixel.
EDGE = 0.2
# Metres within which surfaces darken one another.
REACH = 0.9


def _sequence(count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, 3) points spread evenly over the unit cube: M. Roberts' R3 sequence, randomly shifted."""
    steps = np.arange(count)[:, None] * np.array([0.8191725133961645, 0.6710436067037893, 0.5497004779019703])
    return ((steps + rng.uniform(size=3)) % 1).astype(np.float32)


def _frame(normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors (N, 3) orthogonal to ``normals`` and each other.

    T. Duff et al., Building an orthonormal basis, revisited, JCGT 2017.
    """
    x, y, z = normals.T
    sign = np.where(z >= 0, np.float32(1), np.float32(-1))
    a = -1 / (sign + z)
    b = x * y * a
    return columns([1 + sign * x * x * a, sign * b, -sign * x]), columns([b, sign + y * y * a, -y])


class Sampler:
    """Casts the rays of one picture; the pattern is drawn once.

    Args:
        caster: of the scene.
        rng: of the pattern.
    """

    def __init__(self, caster: Caster, rng: np.random.Generator) -> None:
        self._caster = caster
        self._order = rng.permutation(TILE * TILE)
        self._cube = _sequence(TILE * TILE, rng)

    def tile(self, pixels: np.ndarray, width: int) -> np.ndarray:
        """(N,) place in the pattern of pixels, given as indices (N,) in a picture of ``width`` columns."""
        return self._order[(pixels // width % TILE) * TILE + pixels % width % TILE]

    def ambient(self, places: np.ndarray, normals: np.ndarray, tile: np.ndarray) -> np.ndarray:
        """(N,) float32: share of the light from all around that reaches ``Surface.lifted`` and ``.normal`` (N, 3)."""
        tangent, bitangent = _frame(normals)
        up, turn, length = self._cube.T
        radius, angle = np.sqrt(up), turn * np.float32(2 * np.pi)
        x, y, z = radius * np.cos(angle), radius * np.sin(angle), np.sqrt(1 - up)
        rays = tangent * x[tile, None] + bitangent * y[tile, None] + normals * z[tile, None]
        # Rays of random length: what is near blocks most of them, what is nearly out of reach few.
        reach = REACH * length * length
        return (~self._caster.blocked(places, rays, reach[tile])).astype(np.float32)

    def shadow(self, places: np.ndarray, normals: np.ndarray, tile: np.ndarray, light: Light) -> np.ndarray:
        """(N,) float32: 1 where the light's ray arrives, 0 where something is in its way or it shines from behind."""
        to_light = light.position.astype(np.float32) - places
        # Points of a disc that faces the surface: a ball looks like a disc.
        radius = np.sqrt(self._cube[:, 1]) * np.float32(light.radius)
        angle = self._cube[:, 2] * np.float32(2 * np.pi)
        centre = to_light.mean(0, keepdims=True)
        centre /= np.linalg.norm(centre)
        across, along = _frame(centre)
        disc = outer(radius * np.cos(angle), across[0]) + outer(radius * np.sin(angle), along[0])
        to_light += rows(disc, tile)
        distance = np.sqrt(dot(to_light, to_light))
        rays = to_light / distance[:, None]
        lit = np.zeros(len(tile), np.float32)
        facing = np.flatnonzero(dot(normals, rays) > -0.25)
        lit[facing] = ~self._caster.blocked(rows(places, facing), rows(rays, facing),
                                            distance[facing] * np.float32(0.999))
        return lit


def smooth(values: np.ndarray, surface: Surface, pixels: np.ndarray, size: tuple[int, int],
           twice: np.ndarray) -> np.ndarray:
    """Means of values over 5 x 5 pixels, as far as the surface goes on without an edge between one pixel and the next.

    Args:
        values: (N, C) float32, NaN in the first column where they are not known.
        surface: the N points.
        pixels: (N,) their places in a picture of ``size`` (H, W).
        twice: (N,) bool, points to smooth a second time.

    Returns:
        (N, C) float32; 1 where nothing is known around.
    """
    if not len(values):
        return values
    width, channels = size[1], values.shape[1]
    # Only the rows of the picture that have points are worked on.
    first = pixels.min() // width
    height = pixels.max() // width + 1 - first
    pixels = pixels - first * width

    def picture(parts: Sequence[np.ndarray]) -> np.ndarray:
        grid = np.zeros((len(parts), height * width), np.float32)
        for plane, part in zip(grid, parts):
            if len(pixels) == len(plane):
                plane[:] = part
            else:
                plane[pixels] = part
        return grid.reshape(-1, height, width)

    known = np.isfinite(values[:, 0])
    planes = picture([known, *np.where(known, values.T, 0)])
    guide = picture([*surface.position.T, *surface.normal.T, EDGE / surface.footprint, surface.mesh + 1])
    links = {axis: _linked(guide, axis) for axis in (2, 1)}

    def smoothed(planes: np.ndarray) -> np.ndarray:
        for axis, linked in links.items():
            planes = _smooth_along(planes, linked, axis)
        return planes

    planes = smoothed(planes)
    result = planes.reshape(channels + 1, -1)[:, pixels]
    if twice.any():
        result = np.where(twice, smoothed(planes).reshape(channels + 1, -1)[:, pixels], result)
    # A point in a corner may be left without a known neighbour.
    return np.where(result[0] > 0, result[1:] / np.maximum(result[0], 1e-6), 1).T


def _linked(guide: np.ndarray, axis: int) -> np.ndarray:
    """(H, W) less one along the axis: 1 where a pixel and the next show the same surface, else 0.

    Args:
        guide: (8, H, W) place, normal, ``EDGE`` over footprint, mesh plus 1.
        axis: 1 or 2.
    """
    here, there = (guide[:, :-1], guide[:, 1:]) if axis == 1 else (guide[:, :, :-1], guide[:, :, 1:])
    apart = sum((there[i] - here[i]) * (there[3 + i] + here[3 + i]) for i in range(3))
    alike = sum(there[3 + i] * here[3 + i] for i in range(3))
    linked = (np.abs(apart) * here[6] < 1) & (alike > 0.75) & (here[7] == there[7])
    return linked.astype(np.float32)


def _smooth_along(planes: np.ndarray, linked: np.ndarray, axis: int) -> np.ndarray:
    """Planes (C, H, W) summed with weights 1 2 2 2 1 along an axis, no further than the links go."""
    if axis == 1:
        return _smooth_along(planes.transpose(0, 2, 1), linked.T, 2).transpose(0, 2, 1)
    twice = linked[:, 1:] * linked[:, :-1]
    total = 2 * planes
    link = 2 * linked
    for plane, result in zip(planes, total):
        result[:, :-1] += link * plane[:, 1:]
        result[:, 1:] += link * plane[:, :-1]
        result[:, :-2] += twice * plane[:, 2:]
        result[:, 2:] += twice * plane[:, :-2]
    return total
