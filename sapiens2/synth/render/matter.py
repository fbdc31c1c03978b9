"""Floors, walls, ground and furniture: patterns at their place in the world."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.features import Features
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.noise import fractal, noise, smoothstep
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import columns, outer
from sapiens2.synth.scene import Material
from sapiens2.utils.suggest import UnknownNameError, unknown_name


def paint(surface: Surface, material: Material, _: Features | None) -> Finish:
    """A surface of the surroundings in one of ``PATTERNS``."""
    if material.pattern not in PATTERNS:
        raise UnknownNameError(unknown_name(material.pattern, PATTERNS, 'pattern of surroundings'))
    part = plain(material, len(surface.mesh))
    x, y, z = surface.rest.T
    side = np.abs(surface.normal)
    level = side[:, 1] > np.maximum(side[:, 0], side[:, 2])
    u = np.where(level | (side[:, 2] > side[:, 0]), x, z)
    v = np.where(level, z, y)
    PATTERNS[material.pattern](part, u, v, surface, material)
    return part


def _color(material: Material, number: int) -> np.ndarray:
    colors = np.asarray(material.colors, np.float32).reshape(-1, 3)
    return colors[number % len(colors)] if len(colors) else 0.5 * np.asarray(material.color, np.float32)


def _shade(part: Finish, amount: np.ndarray) -> None:
    part.albedo *= (1 + amount)[:, None]


def _grains(surface: Surface, period: float, seed: int, octaves: int = 1) -> np.ndarray:
    """(N, 4) noise that fades where its period is less than two pixels."""
    return fractal(surface.rest, period, octaves, seed) * smoothstep(0.7 * period, 0.25 * period,
                                                                     surface.footprint)[:, None]


def _plaster(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    del u, v
    fine = _grains(surface, 0.012, material.seed)
    _shade(part, 0.05 * fractal(surface.rest, 0.9, 3, material.seed + 1)[:, 0] + 0.04 * fine[:, 0])
    part.bump[:] = 0.05 * fine[:, 1:]


def _ground(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Asphalt, earth, sand or grass: noise of all sizes between the colours."""
    del u, v
    wide = fractal(surface.rest, 1.7, 3, material.seed)
    fine = _grains(surface, 0.03, material.seed + 5, 2)
    part.albedo += (smoothstep(-0.5, 0.5, wide[:, 0] + 0.7 * fine[:, 0]) * 0.7)[:, None] * (_color(material, 0)
                                                                                           - part.albedo)
    _shade(part, 0.25 * fine[:, 1])
    part.bump[:] = 0.22 * fine[:, 1:]


def _planks(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Planks of wood ``scale`` wide."""
    row = u / np.float32(material.scale)
    number = np.floor(row)
    shift = noise(outer(number, [0.71, 0.37, 0.53]), 0.9, material.seed)
    along = v + 3 * shift[:, 0]
    piece = np.floor(along / np.float32(9 * material.scale))
    tone = noise(columns([number, piece, number]) * np.float32(0.77), 0.5, material.seed + 1)[:, 0]
    grain = fractal(np.stack([u + 0.3 * tone, along * 0.06, surface.rest[:, 1]], 1), 0.02, 2, material.seed + 2)[:, 0]
    grain *= smoothstep(0.02, 0.005, surface.footprint)
    _shade(part, 0.25 * tone + 0.25 * grain)
    _joint(part, row, surface, material.scale, 0.003)
    _joint(part, along / np.float32(9 * material.scale), surface, 9 * material.scale, 0.003)
    part.roughness += 0.1 * grain


def _joint(part: Finish, t: np.ndarray, surface: Surface, period: float, width: float,
           color: np.ndarray | None = None) -> None:
    """Dark (or coloured) lines between pieces, at whole t; thinner than a pixel they only tint it."""
    apart = np.abs(t - np.round(t)) * np.float32(period)
    seen = np.maximum(surface.footprint, width)
    cover = np.clip(1 - apart / seen, 0, 1) * np.minimum(width / seen, 1)
    target = 0.35 * part.albedo if color is None else color
    part.albedo += cover[:, None] * (target - part.albedo)


def _tiles(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Square tiles of ``scale``; with two colours, like a chess board."""
    a, b = u / np.float32(material.scale), v / np.float32(material.scale)
    cell = columns([np.floor(a), np.floor(b), np.zeros_like(a)])
    if len(material.colors) > 1:
        far = smoothstep(0.5 * material.scale, 0.2 * material.scale, surface.footprint)
        odd = 0.5 + (cell[:, 0] + cell[:, 1]) % 2 * far - 0.5 * far
        part.albedo += odd[:, None] * (_color(material, 1) - part.albedo)
    _shade(part, 0.08 * noise(cell * np.float32(0.77), 0.5, material.seed)[:, 0]
           + 0.06 * fractal(surface.rest, 0.08, 2, material.seed + 1)[:, 0])
    _joint(part, a, surface, material.scale, 0.005, _color(material, 0))
    _joint(part, b, surface, material.scale, 0.005, _color(material, 0))


def _bricks(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Bricks ``scale`` long and a third as high."""
    row = v / np.float32(material.scale / 3)
    column = u / np.float32(material.scale) + 0.5 * (np.floor(row) % 2)
    cell = columns([np.floor(column), np.floor(row), np.zeros_like(row)])
    fine = _grains(surface, 0.012, material.seed, 2)
    _shade(part, 0.25 * noise(cell * np.float32(0.77), 0.5, material.seed + 1)[:, 0] + 0.18 * fine[:, 0])
    part.bump[:] = 0.2 * fine[:, 1:]
    _joint(part, row, surface, material.scale / 3, 0.009, _color(material, 0))
    _joint(part, column, surface, material.scale, 0.009, _color(material, 0))


def _carpet(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    del u, v
    fine = _grains(surface, 0.006, material.seed)
    _shade(part, 0.12 * fractal(surface.rest, 0.4, 2, material.seed + 1)[:, 0] + 0.3 * fine[:, 0])
    part.bump[:] = 0.3 * fine[:, 1:]


def _wallpaper(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Stripes of ``scale`` and a soft ornament."""
    t = u / np.float32(material.scale)
    near = smoothstep(0.4 * material.scale, 0.1 * material.scale, surface.footprint)
    wave = np.sin(np.float32(2 * np.pi) * t) + 0.7 * np.sin(np.float32(2 * np.pi / material.scale) * v) * np.cos(
        np.float32(2 * np.pi) * t)
    part.albedo += (0.6 * near * smoothstep(-0.1, 0.1, wave))[:, None] * (_color(material, 0) - part.albedo)


def _boards(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Shelves with things of many colours on them, for walls far behind people."""
    row, column = v / np.float32(0.33), u / np.float32(material.scale)
    level, place = np.floor(row), np.floor(column)
    draw = noise(columns([place, level, level]) * np.float32(0.77), 0.5, material.seed)
    high = (row - level) < 0.55 + 0.35 * draw[:, 3]
    # Spines of books: mostly dark or pale, hardly any of a pure colour.
    colors = np.abs(draw[:, :3]) * np.float32([0.4, 0.34, 0.3])
    colors = 0.35 * colors + 0.65 * colors.mean(1, keepdims=True) * np.float32([1.1, 1, 0.85]) + np.float32(0.02)
    part.albedo[:] = np.where(high[:, None], colors, 0.35 * part.albedo)
    _joint(part, row, surface, 0.33, 0.03, np.asarray(material.color, np.float32))


PATTERNS = {'plain': _plaster, 'plaster': _plaster, 'ground': _ground, 'planks': _planks, 'tiles': _tiles,
            'bricks': _bricks, 'carpet': _carpet, 'wallpaper': _wallpaper, 'boards': _boards}
