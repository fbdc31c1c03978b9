"""Eyes: sclera with veins, iris with structure, pupil; placed by the key points of the irises."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.features import Features
from sapiens2.synth.render.finish import Finish, plain
from sapiens2.synth.render.noise import noise, smoothstep
from sapiens2.synth.render.surface import Surface
from sapiens2.synth.render.vectors import columns, dot, outer, put_rows, rows
from sapiens2.synth.scene import Material

SCLERA = np.array([0.54, 0.48, 0.45], np.float32)


def paint(surface: Surface, material: Material, features: Features) -> Finish:
    """Eyeballs; ``material.color`` is that of the iris."""
    part = plain(material, len(surface.mesh))
    albedo = part.albedo
    albedo[:] = SCLERA * (1 + 0.05 * noise(surface.rest, 0.003, material.seed)[:, :1])
    part.scatter[:] = 0.4
    for iris in features.irises:
        apart = surface.position - iris.centre
        radius = float(np.linalg.norm(iris.up))
        near = np.flatnonzero(dot(apart, apart) < (3 * radius)**2)
        if not len(near):
            continue
        x = rows(apart, near) @ (iris.right / float(iris.right @ iris.right))
        y = rows(apart, near) @ (iris.up / float(iris.up @ iris.up))
        r = np.sqrt(x * x + y * y)
        soft = np.maximum(surface.footprint[near] / radius, 0.05)
        white = _sclera(rows(albedo, near), rows(surface.rest, near), r, material.seed)
        color = _iris(x, y, r, material, iris.pupil)
        white += smoothstep(0.5, -0.5, (r - 1) / soft)[:, None] * (color - white)
        white *= 1 - 0.97 * smoothstep(0.5, -0.5, (r - iris.pupil) / soft)[:, None]
        put_rows(albedo, near, white)
    return part


def _sclera(albedo: np.ndarray, rest: np.ndarray, r: np.ndarray, seed: int) -> np.ndarray:
    """Redder and with more veins towards the corners."""
    vein = 1 - smoothstep(0, 0.12, np.abs(noise(rest, 0.0016, seed + 1)[:, 0]))
    red = smoothstep(1.2, 2.6, r) * (0.45 + 0.4 * vein)
    return albedo * (1 - outer(red, [0.05, 0.35, 0.38]))


def _iris(x: np.ndarray, y: np.ndarray, r: np.ndarray, material: Material, pupil: float) -> np.ndarray:
    """(N, 3) fibres from the pupil outwards, a lighter ring around the pupil, a dark rim."""
    safe = np.maximum(r, 1e-3)
    circle = columns([x / safe, y / safe, 0.25 * r])
    fibres = noise(circle, 0.09, material.seed + 2)[:, 0] + 0.6 * noise(circle, 0.3, material.seed + 3)[:, 0]
    color = outer(1 + 0.55 * fibres, material.color)
    inner = smoothstep(pupil + 0.35, pupil, r)
    color = color * (1 + outer(inner, [0.7, 0.35, 0.05]))
    return color * (1 - 0.75 * smoothstep(0.75, 1.0, r))[:, None]
