"""Skin, lips, nails and tongue."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.features import Features, Stroke
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.noise import fractal, noise, noise_from_near, smoothstep
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import dot, outer, put_rows, rows
from sapiens2.synth.scene import Material
from sapiens2.utils.suggest import UnknownNameError, unknown_name

PATTERNS = ('plain', 'freckles', 'stubble')
# What more and less blood does to the albedo's channels.
BLOOD = np.array([0.05, -0.16, -0.13], np.float32)


def paint(surface: Surface, material: Material, features: Features) -> Finish:
    """Skin of uneven tone, with blush, spots, brows and lash lines.

    Patterns: 'freckles'; 'stubble' in ``colors[0]`` on chin, cheeks and upper lip.
    """
    if material.pattern not in PATTERNS:
        raise UnknownNameError(unknown_name(material.pattern, PATTERNS, 'pattern of skin'))
    part = plain(material, len(surface.mesh))
    rest = surface.rest
    wide = fractal(rest, 0.05, 2, material.seed)
    fine = noise(rest, 0.006, material.seed + 10)
    pores = noise_from_near(surface, 0.0011, material.seed + 20)
    tone = 1 + 0.07 * wide[:, 0] + 0.035 * fine[:, 0] + 0.05 * pores[:, 0]
    blood = 0.5 * wide[:, 1] + 0.35 * fine[:, 1] + _blush(surface.position, features)
    part.albedo *= tone[:, None] * (1 + outer(blood, BLOOD))
    _spots(part, surface, material, fine)
    part.bump[:] = 0.05 * fine[:, 1:] + 0.09 * pores[:, 1:]
    part.roughness += 0.06 * wide[:, 2] + 0.03 * pores[:, 0]
    part.specular *= 1 + 0.4 * wide[:, 3]
    part.scatter[:] = 1
    near = np.flatnonzero((np.abs(surface.position - features.face) < 2.2 * features.size).all(1))
    _face(part, near, surface.select(near), material, features)
    return part


def _blush(position: np.ndarray, features: Features) -> np.ndarray:
    """(N,) 1 and less around the places that are redder."""
    amount = np.zeros(len(position), np.float32)
    low, high = position.min(0), position.max(0)
    for x, y, z, radius in features.blush:
        place = np.array([x, y, z], np.float32)
        if (place < low - 2 * radius).any() or (place > high + 2 * radius).any():
            continue
        apart = position - place
        near = np.flatnonzero((np.abs(apart) < 2 * radius).all(1))
        apart = rows(apart, near)
        amount[near] += 0.9 * np.exp(dot(apart, apart) * np.float32(-1.6 / radius**2))
    return np.minimum(amount, 1.2)


def _spots(part: Finish, surface: Surface, material: Material, fine: np.ndarray) -> None:
    mole = smoothstep(0.86, 0.93, noise(surface.rest, 0.011, material.seed + 30)[:, 0] * 0.5 + 0.5 * fine[:, 2])
    part.albedo *= 1 - outer(0.55 * mole, [0.8, 1, 1])
    if material.pattern == 'freckles':
        dense = smoothstep(-0.3, 0.5, noise(surface.rest, 0.07, material.seed + 40)[:, 0])
        spot = smoothstep(0.4, 0.8, noise(surface.rest, 0.0026, material.seed + 41)[:, 0]) * dense
        part.albedo *= 1 - outer(0.32 * spot, [0.7, 1, 1.1])


def _face(part: Finish, near: np.ndarray, surface: Surface, material: Material, features: Features) -> None:
    """Brows, lash lines and stubble, on the points ``near`` the face."""
    albedo = rows(part.albedo, near)
    hairs = noise_from_near(surface, 0.0012, material.seed + 50)[:, 0]
    for stroke in features.brows:
        cover = smoothstep(1.15, 0.45, stroke_distance(surface.position, stroke, surface.footprint) + 0.35 * hairs)
        albedo += (0.82 * cover)[:, None] * (outer(1 + 0.4 * hairs, features.hair_color) - albedo)
    for stroke in features.lashes:
        cover = smoothstep(1.6, 0.5, stroke_distance(surface.position, stroke, surface.footprint))
        albedo += (0.75 * cover)[:, None] * (0.35 * features.hair_color - albedo)
    if material.pattern == 'stubble':
        cover = _beard(surface, features) * (0.42 + 0.3 * noise_from_near(surface, 0.0013, material.seed + 60)[:, 0])
        albedo += np.clip(cover, 0, 0.9)[:, None] * (np.asarray(material.colors[0], np.float32) - albedo)
    put_rows(part.albedo, near, albedo)


def _beard(surface: Surface, features: Features) -> np.ndarray:
    """(N,) 1 on upper lip, jaw and chin, 0 on the upper face, the neck and the ears."""
    up = sum(iris.up / np.float32(np.linalg.norm(iris.up)) for iris in features.irises) / np.float32(2)
    apart = (surface.position - features.face) * np.float32(1 / features.size)
    below = -(apart @ up)
    # A ball around the chin's inside, one and a half distances of the eyes wide.
    apart = apart + np.float32(0.9) * up
    return smoothstep(0.1, 0.5, below) * smoothstep(1.7, 1.0, np.sqrt(dot(apart, apart)))


def stroke_distance(position: np.ndarray, stroke: Stroke, footprint: np.ndarray) -> np.ndarray:
    """(N,) distance from a stroke's line in half widths, at least 0.7 pixels each; points far away get 10."""
    result = np.full(len(position), 10, np.float32)
    middle = stroke.points.mean(0)
    reach = np.abs(stroke.points - middle).max() + 4 * stroke.half_widths.max()
    near = np.flatnonzero((np.abs(position - middle) < reach).all(1))
    if not len(near):
        return result
    place, width_floor = rows(position, near), 0.7 * footprint[near]
    best = result[near]
    ends = zip(stroke.points[:-1], stroke.points[1:], stroke.half_widths[:-1], stroke.half_widths[1:])
    for start, end, first, last in ends:
        side = end - start
        t = np.clip((place - start) @ side / max(float(side @ side), 1e-12), 0, 1)
        apart = place - start - outer(t, side)
        width = np.maximum(first + t * (last - first), width_floor)
        best = np.minimum(best, np.sqrt(dot(apart, apart)) / width)
    result[near] = best
    return result


def paint_lip(surface: Surface, material: Material, _: Features) -> Finish:
    """Lips: fine lines from corner to corner, a little gloss."""
    part = plain(material, len(surface.mesh))
    lines = noise_from_near(surface, 0.0008, material.seed, (1, 0.15, 0.15))
    wide = noise(surface.rest, 0.012, material.seed + 1)
    part.albedo *= (1 + 0.12 * lines[:, 0] + 0.1 * wide[:, 0])[:, None]
    part.bump[:] = 0.22 * lines[:, 1:] + 0.05 * wide[:, 1:]
    part.scatter[:] = 1
    return part


def paint_nail(surface: Surface, material: Material, _: Features) -> Finish:
    """Nails: smooth and glossy."""
    part = plain(material, len(surface.mesh))
    part.albedo *= 1 + 0.05 * noise(surface.rest, 0.004, material.seed)[:, :1]
    part.scatter[:] = 0.6
    return part


def paint_tongue(surface: Surface, material: Material, _: Features) -> Finish:
    """Tongue: bumpy and wet."""
    part = plain(material, len(surface.mesh))
    rough = noise(surface.rest, 0.0016, material.seed)
    part.albedo *= 1 + 0.1 * rough[:, :1]
    part.bump[:] = 0.25 * rough[:, 1:]
    part.scatter[:] = 1
    return part
