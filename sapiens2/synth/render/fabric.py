"""Cloth and leather: patterns in cloth coordinates, a weave that shows from near, wrinkles in the shading."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.features import Features, across_arm, on_sleeve
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.noise import fractal, noise, noise_from_near, smoothstep
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import columns, rows
from sapiens2.synth.scene import Material
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# Thread to thread, metres.
WEAVE = 0.0014
# Radius of the cylinders that patterns are wrapped around, of the trunk and of sleeves, in statures.
RADIUS, SLEEVE_RADIUS = 0.095, 0.036


def paint(surface: Surface, material: Material, features: Features | None) -> Finish:
    """Cloth in one of ``PATTERNS``."""
    if material.pattern not in PATTERNS:
        raise UnknownNameError(unknown_name(material.pattern, PATTERNS, 'pattern of fabric'))
    part = plain(material, len(surface.mesh))
    u, v = cloth_coordinates(surface, features)
    PATTERNS[material.pattern](part, u, v, surface, material)
    wide = fractal(surface.rest * np.array([1, 0.6, 1], np.float32), 0.07, 2, material.seed + 5)
    part.albedo *= (1 + 0.03 * wide[:, 0])[:, None]
    part.bump += 0.1 * wide[:, 1:]
    near = smoothstep(0.0007, 0.0003, surface.footprint)
    if near.any():
        waves = np.float32(2 * np.pi / WEAVE)
        over, under = np.sin(u * waves), np.sin(v * waves)
        part.albedo *= (1 + 0.13 * near * over * under)[:, None]
        part.bump += (0.18 * near)[:, None] * noise(surface.rest, 0.7 * WEAVE, material.seed + 6)[:, 1:]
    return part


def paint_leather(surface: Surface, material: Material, _: Features | None) -> Finish:
    """Leather: grain, worn places."""
    part = plain(material, len(surface.mesh))
    worn = noise(surface.rest, 0.03, material.seed)
    grain = noise_from_near(surface, 0.002, material.seed + 1)
    part.albedo *= (1 + 0.18 * worn[:, 0] + 0.12 * grain[:, 0])[:, None]
    part.roughness += 0.12 * worn[:, 1]
    part.bump[:] = 0.07 * grain[:, 1:] + 0.06 * worn[:, 1:]
    return part


def cloth_coordinates(surface: Surface, features: Features | None) -> tuple[np.ndarray, np.ndarray]:
    """(N,) metres around the body, with a seam at the back, and (N,) along it; on sleeves, around and along the arm."""
    x, y, z = surface.rest.T
    stature = features.stature if features else 1.7
    around, along = np.arctan2(x, z) * np.float32(RADIUS * stature), y.copy()
    sleeve = np.flatnonzero(on_sleeve(surface.rest, surface.label, stature)) if features else []
    if len(sleeve):
        rest = rows(surface.rest, sleeve)
        across = across_arm(rest) - np.float32(features.sleeve[0])
        around[sleeve] = np.arctan2(rest[:, 2] - np.float32(features.sleeve[1]), -across) * np.float32(
            SLEEVE_RADIUS * stature)
        along[sleeve] = (rest[:, 1] - np.abs(rest[:, 0])) * np.float32(np.sqrt(0.5))
    return around, along


def _line(t: np.ndarray, share: float, soft: np.ndarray) -> np.ndarray:
    """(N,) 1 in the first ``share`` of each period of t, with edges ``soft`` wide (in periods)."""
    t = t - np.floor(t)
    return np.clip((0.5 * share - np.abs(t - 0.5)) / soft + 0.5, 0, 1)


def _soft(surface: Surface, material: Material) -> np.ndarray:
    return np.maximum(surface.footprint / np.float32(material.scale), 0.01)


def _mix(part: Finish, material: Material, number: int, amount: np.ndarray) -> None:
    """Towards colour ``number`` of the pattern; without colours, a darker shade of the main one."""
    colors = np.asarray(material.colors, np.float32).reshape(-1, 3)
    color = colors[number % len(colors)] if len(colors) else 0.35 * np.asarray(material.color, np.float32)
    part.albedo += amount[:, None] * (color - part.albedo)


def _plain(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    del part, u, v, surface, material


def _stripes(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Stripes around the body; of odd seeds, along it."""
    t = (u if material.seed % 2 else v) / np.float32(material.scale)
    soft = _soft(surface, material)
    _mix(part, material, 0, _line(t, 0.5, soft))
    if len(material.colors) > 1:
        _mix(part, material, 1, _line(t + 0.5, 0.12, soft))


def _checks(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Checks: broad bands both ways, and thin lines of the second colour."""
    soft = _soft(surface, material)
    u, v = u / np.float32(material.scale), v / np.float32(material.scale)
    _mix(part, material, 0, 0.6 * _line(u, 0.45, soft))
    _mix(part, material, 0, 0.6 * _line(v, 0.45, soft))
    if len(material.colors) > 1:
        _mix(part, material, 1, 0.7 * np.maximum(_line(u + 0.5, 0.07, soft), _line(v + 0.5, 0.07, soft)))


def _dots(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Dots in shifted rows."""
    u, v = u / np.float32(material.scale), v / np.float32(material.scale)
    u = u + 0.5 * (np.floor(v) % 2)
    r = np.hypot(u - np.floor(u) - 0.5, v - np.floor(v) - 0.5)
    _mix(part, material, 0, np.clip((0.24 - r) / _soft(surface, material) + 0.5, 0, 1))


def _camouflage(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Patches of all colours."""
    del u, v
    patches = fractal(surface.rest * np.array([0.7, 1.2, 0.7], np.float32), material.scale, 3, material.seed)
    for number in range(max(len(material.colors), 1)):
        _mix(part, material, number, smoothstep(0.10, 0.13, patches[:, number % 4]))


def _print(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Flower-like shapes scattered over the cloth, each of its own size and colour."""
    soft = _soft(surface, material)
    for number in range(max(len(material.colors), 1)):
        shift = 0.37 * (number + 1)
        a, b = u / np.float32(material.scale) + shift, v / np.float32(material.scale) + shift * 1.7
        cell = columns([np.floor(a), np.floor(b), np.full_like(a, number)])
        draw = noise(cell * np.float32(0.37), 0.31, material.seed)
        a, b = a - np.floor(a) - 0.5 - 0.18 * draw[:, 0], b - np.floor(b) - 0.5 - 0.18 * draw[:, 1]
        petals = 1 + 0.35 * np.sin(5 * np.arctan2(b, a) + 6 * draw[:, 2])
        r = np.hypot(a, b)
        _mix(part, material, number, np.clip((0.21 * petals - r) / soft + 0.5, 0, 1))
        _mix(part, material, number + 1, np.clip((0.06 - r) / soft + 0.5, 0, 1))


def _denim(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Denim: twill, faded in patches and lighter along the front."""
    fade = fractal(surface.rest * np.array([1, 0.4, 1], np.float32), 0.16, 2, material.seed)[:, 0]
    streak = noise_from_near(surface, 0.0025, material.seed + 1, (1, 0.1, 1))[:, 0]
    near = smoothstep(0.0008, 0.0003, surface.footprint)
    twill = np.sin((u + v) * np.float32(2 * np.pi / 0.0018)) * near
    light = np.clip(0.2 + 0.25 * fade + 0.08 * streak + 0.14 * twill, 0, 0.8)
    part.albedo += light[:, None] * (np.float32([0.42, 0.48, 0.55]) - part.albedo)


def _knit(part: Finish, u: np.ndarray, v: np.ndarray, surface: Surface, material: Material) -> None:
    """Knitting: ribs of ``scale`` with stitches."""
    t = np.float32(2 * np.pi / material.scale) * u
    near = smoothstep(0.4 * material.scale, 0.12 * material.scale, surface.footprint)
    rib = np.cos(t)
    stitch = np.sin(np.float32(2 * np.pi / material.scale) * v + np.abs(np.sin(0.5 * t)) * 3)
    part.albedo *= (1 + near * (0.12 * rib + 0.12 * stitch))[:, None]
    x, _, z = surface.normal.T
    part.bump += (0.45 * near * np.sin(t))[:, None] * columns([-z, np.zeros_like(x), x])
    part.roughness[:] = np.maximum(part.roughness, 0.85)


PATTERNS = {'plain': _plain, 'stripes': _stripes, 'checks': _checks, 'dots': _dots, 'camouflage': _camouflage,
            'noise': _camouflage, 'print': _print, 'denim': _denim, 'knit': _knit}
