"""Socks and shoes, from the feet of the body suit, whose toes are one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapiens2.synth.people.garments import LEG_UNIT
from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.parts import Part, clip_all, hem, label_of, split
from sapiens2.synth.people.surfaces import Place

_SIDES = {'L': 'Left', 'R': 'Right'}


def foot_field(place: Place, side: str, height: float) -> np.ndarray:
    """(N,) positive on the foot of ``side`` and its leg up to the place ``height`` (2 is the ankle)."""
    return (LEG_UNIT * (place.leg[side] - height)).astype(np.float32)


def sock(suit: Part, place: Place, side: str, height: float, gap: float, material: int) -> Part:
    """A sock up to the place ``height`` along the leg, ``gap`` metres off the skin."""
    part, _, normals = clip_all(suit, [foot_field(place, side, height)])
    part = part.with_rest(part.rest + gap * normals)
    return hem(part, 0.002, normals).painted(label_of(f'{_SIDES[side]}_Sock'), material)


def shoe(suit: Part, place: Place, side: str, height: float, sole: float, material: int, sole_material: int,
         rng: np.random.Generator) -> Part:
    """A closed shoe or boot up to the place ``height``, on a flat sole ``sole`` metres thick."""
    part, _, normals = clip_all(suit, [foot_field(place, side, height)])
    floor = part.rest[:, 1].min()
    up = part.rest[:, 1] - floor
    wide = 0.006 + 0.004 * np.clip(1 - up / 0.05, 0, 1)
    rest = part.rest + wide[:, None] * normals + (0.0012 * waves(part.rest, 0.045, rng, 4))[:, None] * normals
    # Everything near the ground becomes the flat sole with upright sides.
    flat = up < 0.016
    side_way = normals * (1, 0, 1)
    rest[flat] = part.rest[flat] + 0.009 * side_way[flat] / np.maximum(
        np.linalg.norm(side_way[flat], axis=1, keepdims=True), 0.5)
    # What faces up stays above the sole: the toe of a shoe is as high as a foot's.
    low = np.clip((0.022 - up) / 0.012, 0, 1) * np.clip((0.45 - normals[:, 1]) / 0.4, 0, 1)
    rest[:, 1] += 0.006 * np.clip(normals[:, 1] / 0.5, 0, 1) * np.clip((0.05 - up) / 0.03, 0, 1)
    rest[:, 1] = (1 - low) * rest[:, 1] + low * (floor - sole)
    whole = hem(part.with_rest(rest), 0.004, normals)
    whole, upper = split(whole, whole.rest[:, 1] - (floor + 0.003))
    labels = np.full(len(whole.faces), label_of(f'{_SIDES[side]}_Shoe'), np.uint8)
    return replace(whole, labels=labels, materials=np.where(upper, material, sole_material).astype(np.uint8))
