"""Something to sit on for people who sit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render.features import keypoint_index
from sapiens2.synth.render.props import Props, matter
from sapiens2.synth.scene import Material, Person

# Metres that soft flesh and cloth sink into a seat.
SINK = 0.006
# Metres from the hips to the front and the back edge, and from the middle to the sides.
FRONT, BACK, SIDE = 0.19, 0.21, 0.21
PLATE, LEG = 0.05, 0.02


def add_seats(rng: np.random.Generator, props: Props, materials: list[Material], persons: Sequence[Person]) -> None:
    """Put a cube or a stool with legs below everybody whose description says how high the seat is."""
    index = keypoint_index()
    for person in persons:
        height = person.description.get('pose', {}).get('seat_height_m')
        if height is None:
            continue
        left, right = (person.keypoints[index[f'{side}_hip']].astype(np.float64) for side in ('left', 'right'))
        knees = np.mean([person.keypoints[index[f'{side}_knee']] for side in ('left', 'right')], 0)
        hips = (left + right) / 2
        ahead = (knees - hips)[[0, 2]]
        heading = float(np.arctan2(*ahead))
        size = float(np.hypot(*ahead)) / 0.42
        middle = hips[[0, 2]] + 0.5 * (FRONT - BACK) * size * ahead / np.linalg.norm(ahead)
        _seat(rng, props, materials, middle, heading, size, height - SINK)


def _seat(rng: np.random.Generator, props: Props, materials: list[Material], middle: np.ndarray, heading: float,
          size: float, top: float) -> None:
    """A seat whose upper side is ``top`` metres high, around ``middle`` (x, z)."""
    tone = rng.uniform(0.05, 0.5)
    wooden = rng.random() < 0.5
    color = tone * np.array([1, 0.68, 0.42]) if wooden else tone * rng.uniform(0.5, 1.1, 3)
    materials.append(matter(rng, color, 'planks' if wooden else 'plain', scale=0.15))
    material = len(materials) - 1
    half = np.array([SIDE * size * rng.uniform(0.9, 1.4), 0.5 * (FRONT + BACK) * size])
    foot = np.array([middle[0], 0, middle[1]])

    def piece(low: Sequence[float], high: Sequence[float]) -> None:
        props.box(foot + low, foot + high, material, heading, foot)

    if rng.random() < 0.45:
        piece([-half[0], 0, -half[1]], [half[0], top, half[1]])
        return
    piece([-half[0], top - PLATE, -half[1]], [half[0], top, half[1]])
    for x in (-1, 1):
        for z in (-1, 1):
            at = np.array([x, z]) * (half - 0.04)
            piece([at[0] - LEG, 0, at[1] - LEG], [at[0] + LEG, top - PLATE, at[1] + LEG])
