"""Hair: shells over the scalp, curtains that hang from it, tails and buns."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people.hair_curtain import curtain
from sapiens2.synth.people.hair_frame import HeadFrame, head_frame
from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.parts import Part, clip_all, hem, label_of
from sapiens2.synth.people.phenotype import Phenotype
from sapiens2.synth.people.shapes import outward, rigid_part, tube
from sapiens2.synth.people.surfaces import Surfaces, hairline
from sapiens2.synth.people.template import Template

# Style -> share for men and for women.
STYLES = {
    'bald': (0.09, 0.01),
    'buzz': (0.2, 0.02),
    'short': (0.42, 0.12),
    'curly': (0.12, 0.14),
    'bob': (0.06, 0.22),
    'long': (0.06, 0.28),
    'ponytail': (0.02, 0.13),
    'bun': (0.03, 0.08)
}


def draw_style(rng: np.random.Generator, phenotype: Phenotype) -> str:
    """Draw a hair style."""
    shares = np.asarray([share[phenotype.female] for share in STYLES.values()])
    style = str(rng.choice(list(STYLES), p=shares / shares.sum()))
    return 'short' if style == 'bald' and phenotype.child else style


def make_hair(rng: np.random.Generator,
              style: str,
              template: Template,
              surfaces: Surfaces,
              vertices: np.ndarray,
              material: int,
              capped: np.ndarray | None = None) -> list[Part]:
    """Hair of a ``style`` on the unposed body ``vertices`` (V, 3).

    ``capped``: (N,) field on the scalp, positive where a hat lies, under which the hair is flat and not shown.
    """
    if style == 'bald':
        return []
    frame = head_frame(surfaces, vertices)
    size = float(frame.scale.mean())
    top, side = {
        'buzz': (0.006, 0.005),
        'short': (float(rng.uniform(0.016, 0.036)), float(rng.uniform(0.007, 0.016))),
        'curly': (float(rng.uniform(0.03, 0.075)), float(rng.uniform(0.025, 0.06))),
        'bob': (0.02, 0.016),
        'long': (0.018, 0.014),
        'ponytail': (0.011, 0.009),
        'bun': (0.011, 0.009)
    }[style]
    fringe = float(rng.uniform(0.012, 0.035)) if style in ('bob', 'long', 'short') and rng.random() < 0.45 else float(
        rng.uniform(-0.008, 0.008))
    parts = [_shell(rng, style, surfaces, vertices, (top * size, side * size), fringe, capped)]
    if style in ('bob', 'long'):
        length = float(rng.uniform(0.12, 0.2) if style == 'bob' else rng.uniform(0.24, 0.45)) * size
        parts.append(curtain(rng, template, surfaces, vertices, frame, length, side * size))
    if style in ('ponytail', 'bun'):
        parts.append(_tail(rng, style, template, surfaces, vertices, frame))
    return [part.painted(label_of('Hair'), material) for part in parts if len(part.faces)]


def _shell(rng: np.random.Generator, style: str, surfaces: Surfaces, vertices: np.ndarray,
           thickness: tuple[float, float], fringe: float, capped: np.ndarray | None) -> Part:
    """Hair over the scalp: ``thickness`` on top and at the sides, ``fringe`` down the forehead, metres."""
    base = surfaces.scalp.place.base
    x, y, z = base.T
    # A parting or a sweep makes a fringe slant.
    slant = float(rng.normal(0, 0.12))
    front = np.clip((z - 0.085) / 0.03, 0, 1) * np.clip(1 - (np.abs(x) / 0.07)**4, 0, 1)
    line = hairline(base) - front * (fringe + slant * x) + 0.0025 * waves(base, 0.03, rng, 4)
    fields = [y - line] + ([] if capped is None else [0.012 - capped])
    part, field, normals = clip_all(surfaces.scalp.part(vertices), fields)
    high = np.clip((part.base[:, 1] - 0.74) / 0.09, 0, 1)
    lift = thickness[1] + (thickness[0] - thickness[1]) * high
    root = np.clip(field / (0.03 if style in ('curly', 'bob', 'long') else 0.045), 0, 1)
    # It grows out of the skin at a slant: no step at the hairline.
    lift = 0.0025 + lift * root**0.8
    if style == 'curly':
        lift = lift * (1 + 0.11 * waves(part.rest, 0.04, rng, 9) + 0.1 * waves(part.rest, 0.08, rng, 6))
    elif style != 'buzz':
        # Locks run from the crown down and to the front.
        locks = waves(part.rest, 0.02, rng, 7, (1.0, 0.3, 0.3), ridged=True)
        lift = lift * (1 + 0.10 * locks + 0.12 * waves(part.rest, 0.07, rng, 5))
    if capped is not None:
        lift = np.minimum(lift, 0.012)
    lift = np.maximum(lift, 0.002)
    return hem(part.with_rest(part.rest + lift[:, None] * normals), 0.012, normals)


def _tail(rng: np.random.Generator, style: str, template: Template, surfaces: Surfaces, vertices: np.ndarray,
          frame: HeadFrame) -> Part:
    """A ponytail or a bun at the back or the top of the head."""
    height, size = float(rng.uniform(0.755, 0.84)), float(frame.scale.mean())
    base = surfaces.scalp.place.base
    behind = np.where(base[:, 2] < -0.01, np.hypot(base[:, 0], base[:, 1] - height), 1.0)
    at = int(np.argmin(behind))
    root = surfaces.scalp.points(vertices)[at] - frame.shift
    root = np.array([0, root[1], root[2]]) / frame.scale
    back = root[2]
    if style == 'bun':
        radius = float(rng.uniform(0.028, 0.045)) * size
        angle = np.linspace(0, np.pi, 14)
        points, faces = tube(np.array([0, 0, -1.0]) * (np.cos(angle)[:, None]), np.maximum(np.sin(angle), 0.02), 20)
        points = points * radius
        points = points * (1 + 0.07 * waves(points, 0.02, rng, 7, ridged=True))[:, None]
        away = np.array([0, max(root[1] - 0.76, 0.0), back])
        part = rigid_part(
            frame.place(root[None]) + points + 0.7 * radius * away / np.linalg.norm(away), faces, template.bone('head'),
            len(template.bones))
        return outward(part)
    length = float(rng.uniform(0.16, 0.38))
    share = np.linspace(0, 1, 18)
    out = float(rng.uniform(0.035, 0.06))
    path = np.stack([
        0.02 * rng.normal() * share, root[1] - length * share**1.35 + 0.012 * np.sin(np.pi * share),
        back - out * np.sin(np.minimum(share * 3.2, np.pi / 2)) + 0.02 * share
    ], 1)
    radius = size * 0.024 * (0.55 + np.sin(np.pi * np.clip(share, 0.05, 1)**0.7) * 0.7) * (1 - 0.75 * share**3)
    points, faces = tube(frame.place(path), radius, 20)
    locks = waves(points, 0.012, rng, 7, (1.0, 0.12, 1.0), ridged=True)
    centre = np.repeat(frame.place(path), 20, axis=0)
    points = centre + (points - centre) * (1 + 0.12 * locks)[:, None]
    return outward(rigid_part(points, faces, template.bone('head'), len(template.bones)))
