"""Glasses and hats."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people.eyes import Eye
from sapiens2.synth.people.hair_frame import HeadFrame
from sapiens2.synth.people.noise import waves
from sapiens2.synth.people.palette import cloth_color, plain
from sapiens2.synth.people.parts import clip_all, hem, label_of
from sapiens2.synth.people.shapes import grid_faces, rigid_part, tube
from sapiens2.synth.people.surfaces import Surfaces
from sapiens2.synth.people.template import Template
from sapiens2.synth.people.wardrobe import Wardrobe

# Vertex of the base mesh where the left ear's shell joins the head, on which glasses lie.
_EAR_TOP = 12025
# How much higher a hat sits in front than at the back.
_SLOPES = {'beanie': 0.15, 'cap': 0.25, 'brimmed hat': 0.12}


def glasses(wardrobe: Wardrobe, template: Template, eyes: dict[str, Eye]) -> None:
    """Put on glasses: two rims with lenses, bridge and temples."""
    rng = wardrobe.rng
    left, right = eyes['L'].centre, eyes['R'].centre
    apart = float(np.linalg.norm(left - right))
    unit_size = apart / 0.0615
    width, height = apart * rng.uniform(0.38, 0.44), unit_size * rng.uniform(0.017, 0.024)
    power = float(rng.uniform(2.0, 4.0))
    radius = unit_size * rng.uniform(0.0011, 0.0022)
    front = eyes['L'].radius + 0.010 * unit_size
    angle = 2 * np.pi * np.arange(40) / 40
    shape = np.stack([
        np.sign(np.cos(angle)) * np.abs(np.cos(angle))**(2 / power) * width,
        np.sign(np.sin(angle)) * np.abs(np.sin(angle))**(2 / power) * height
    ], 1)
    bones, head = len(template.bones), template.bone('head')
    rims, lenses = [], []
    for side, sign in (('L', 1.0), ('R', -1.0)):
        centre = eyes[side].centre + np.array([sign * 0.06 * width, -0.1 * height, front])
        # The front bends back toward the temples.
        rim = centre + np.stack([shape[:, 0], shape[:, 1], -0.14 * sign * shape[:, 0] - 0.1 * width], 1)
        rims.append(tube(rim, radius, 8, closed=True))
        disc = np.concatenate([rim, [rim.mean(0) + (0, 0, 0.0015)]])
        order = np.arange(40)
        lenses.append((disc, np.stack([order, (order + 1) % 40, np.full(40, 40)], 1)))
        outer = rim[np.argmax(sign * rim[:, 0] + 0.3 * rim[:, 1])]
        ear = wardrobe.vertices[_EAR_TOP if side == 'L' else template.mirror[_EAR_TOP]].astype(float)
        hinge = outer + np.array([sign * 0.003, 0, -0.004]) * unit_size
        bend = ear + np.array([sign * 0.003, 0.002, -0.006]) * unit_size
        rims.append(
            tube(
                np.stack([
                    outer, hinge, 0.5 * (hinge + bend) + (sign * 0.002, 0.001, 0), bend,
                    bend + np.array([-sign * 0.002, -0.014, -0.022]) * unit_size
                ]), 1.1 * radius, 8))
    inner = [lens[0][np.argmin(np.abs(lens[0][:40, 0]) - 0.35 * lens[0][:40, 1])] for lens in lenses]
    top = (inner[0] + inner[1]) / 2 + (0, 0.002 * unit_size, 0.003 * unit_size)
    rims.append(tube(np.stack([inner[0], top, inner[1]]), radius, 8))
    dark = rng.random() < 0.25
    color = np.full(3, 0.02) if rng.random() < 0.5 else cloth_color(rng)
    frame = wardrobe.material(
        plain(rng, 'metal', np.array([0.5, 0.45, 0.38]), 0.25, 0.6) if rng.random() <
        0.35 else plain(rng, 'rubber', color, 0.3))
    lens = wardrobe.material(plain(rng, 'lens', np.full(3, 0.015) if dark else np.full(3, 0.9), 0.05))
    label = label_of('Eyeglass')
    wardrobe.parts += [rigid_part(points, faces, head, bones).painted(label, frame) for points, faces in rims]
    wardrobe.parts += [rigid_part(points, faces, head, bones).painted(label, lens) for points, faces in lenses]
    wardrobe.names.append('sunglasses' if dark else 'glasses')


def hat_field(base: np.ndarray, kind: str) -> np.ndarray:
    """(N,) positive on the scalp under a hat."""
    return (base[:, 1] - 0.775 - _SLOPES[kind] * (base[:, 2] - 0.02)).astype(np.float32)


def hat(wardrobe: Wardrobe, kind: str, template: Template, surfaces: Surfaces, frame: HeadFrame) -> None:
    """Put on a 'beanie', a 'cap' or a 'brimmed hat'."""
    rng = wardrobe.rng
    field = hat_field(surfaces.scalp.place.base, kind)
    part, _, normals = clip_all(surfaces.scalp.part(wardrobe.vertices), [field])
    up = np.clip((part.base[:, 1] - 0.775) / 0.07, 0, 1)
    lift = 0.017 + (0.012 * up if kind != 'beanie' else 0.004 + 0.016 * up)
    rest = part.rest + lift[:, None] * normals
    if kind == 'beanie':
        angle = np.arctan2(part.base[:, 0], part.base[:, 2] - 0.02)
        rest = rest + (0.0015 * np.sin(60 * angle) + 0.003 * waves(part.rest, 0.06, rng, 5))[:, None] * normals
    material = wardrobe.fabric({
        'knit': 3,
        'plain': 1,
        'stripes': 1
    } if kind == 'beanie' else {
        'plain': 4,
        'denim': 0.5,
        'camouflage': 0.5,
        'checks': 0.3
    })
    crown = hem(part.with_rest(rest), 0.006, normals)
    pieces = [crown]
    if kind != 'beanie':
        half = np.pi if kind == 'brimmed hat' else np.deg2rad(68)
        wide = float(rng.uniform(0.05, 0.09)) if kind == 'brimmed hat' else float(rng.uniform(0.055, 0.07))
        angle = np.linspace(-half, half, 60)
        # The rim of the crown: where the hat's plane cuts an ellipse around the head.
        ring = np.stack([0.093 * np.sin(angle), 0 * angle, 0.02 + 0.118 * np.cos(angle)], 1)
        ring[:, 1] = 0.781 + _SLOPES[kind] * (ring[:, 2] - 0.02)
        out = np.stack([np.sin(angle), 0 * angle, np.cos(angle)], 1)
        reach = np.linspace(-0.02, wide, 6)[:, None, None]
        if kind == 'cap':
            reach = reach * np.sqrt(np.clip(np.cos(angle * 90 / 68), 0, 1))[None, :, None] + 0 * reach
        droop = -(0.25 if kind == 'cap' else float(rng.uniform(-0.1, 0.3))) * np.maximum(
            reach, 0) * (0.4 + 0.6 * np.sin(angle)[None, :, None]**2)
        top = ring + reach * out + droop * np.array([0, 1.0, 0])
        points = frame.place(top.reshape(-1, 3))
        thick = np.array([0, 0.003, 0])
        faces = grid_faces(6, 60)
        brim = [
            rigid_part(points, faces[:, ::-1], template.bone('head'), len(template.bones)),
            rigid_part(points - thick, faces, template.bone('head'), len(template.bones))
        ]
        pieces += brim
    wardrobe.parts += [piece.painted(label_of('Apparel'), material) for piece in pieces]
    wardrobe.names.append(kind)
