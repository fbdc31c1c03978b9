"""Rooms: floor, walls with windows, ceiling, furniture along the walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render import skies
from sapiens2.synth.render.props import Props, matter
from sapiens2.synth.render.seats import add_seats
from sapiens2.synth.scene import Camera, Light, Material, Person, Surroundings


def _floor(rng: np.random.Generator) -> Material:
    kind = str(rng.choice(['planks', 'planks', 'tiles', 'carpet', 'plaster', 'chess']))
    tone = rng.uniform(0.08, 0.5)
    wood = tone * np.array([1, rng.uniform(0.55, 0.75), rng.uniform(0.3, 0.5)])
    grey = tone * (1 + rng.normal(0, 0.08, 3))
    if kind == 'planks':
        return matter(rng, wood, kind, scale=float(rng.uniform(0.08, 0.2)), roughness=float(rng.uniform(0.25, 0.7)))
    if kind == 'tiles':
        return matter(rng, grey, kind, [0.5 * grey], float(rng.uniform(0.2, 0.6)), float(rng.uniform(0.2, 0.6)))
    if kind == 'chess':
        return matter(rng, grey, 'tiles', [0.4 * grey, rng.uniform(0.02, 0.7, 3)], float(rng.uniform(0.2, 0.6)),
                      float(rng.uniform(0.2, 0.6)))
    return matter(rng, tone * rng.uniform(0.5, 1.2, 3) if kind == 'carpet' else grey, kind)


def _wall(rng: np.random.Generator) -> Material:
    kind = str(rng.choice(['plaster'] * 6 + ['wallpaper', 'wallpaper', 'bricks', 'tiles', 'tiles', 'boards', 'planks']))
    tone = rng.uniform(0.2, 0.8)
    color = tone * (1 + rng.normal(0, 0.06 if rng.random() < 0.7 else 0.2, 3))
    if kind == 'bricks':
        color = rng.uniform(0.15, 0.5) * np.array([1, rng.uniform(0.5, 0.95), rng.uniform(0.4, 0.9)])
        return matter(rng, color, kind, [[0.45, 0.43, 0.4]], float(rng.uniform(0.2, 0.3)))
    if kind == 'planks':
        return matter(rng, 0.4 * np.array([1, 0.68, 0.42]) * rng.uniform(0.5, 1.5), kind, scale=0.14)
    return matter(rng, color, kind, [np.clip(color * rng.uniform(0.6, 1.3), 0, 0.85)],
                  float(rng.uniform(0.05, 0.3)) if kind in ('wallpaper', 'boards') else float(rng.uniform(0.1, 0.4)))


def build_room(rng: np.random.Generator, persons: Sequence[Person], camera: Camera) -> Surroundings:
    """A room that holds the people and the camera, with one or two windows and lamps on the ceiling."""
    points = np.concatenate([person.mesh.vertices for person in persons] + [camera.position[None]]).astype(np.float64)
    low = points.min(0) - rng.uniform(0.35, 2.2, 3)
    high = points.max(0) + rng.uniform(0.35, 2.2, 3)
    height = max(float(points[:, 1].max()) + rng.uniform(0.25, 0.8), rng.uniform(2.3, 3.0))
    materials = [_floor(rng), _wall(rng), matter(rng, [0.75, 0.75, 0.73], 'plaster')]
    props = Props()
    corners = np.array([[low[0], low[2]], [high[0], low[2]], [high[0], high[2]], [low[0], high[2]]])
    a, b, c, d = ([x, 0, z] for x, z in corners)
    props.quad([d, c, b, a], 0)
    up = np.array([0, height, 0])
    props.quad([a + up, b + up, c + up, d + up], 2)
    open_walls = rng.choice(4, size=rng.integers(1, 3), replace=False)
    windows, lights = [], []
    people = np.concatenate([person.mesh.vertices for person in persons]).mean(0).astype(np.float64)
    if rng.random() < 0.3:
        materials.append(_wall(rng))
    for i in range(4):
        start, end = corners[i], corners[(i + 1) % 4]
        hole = None
        if i in open_walls:
            left = rng.uniform(0.15, 0.5)
            right = min(left + rng.uniform(0.2, 0.45), 0.9)
            hole = (left, right, rng.uniform(0.7, 1.0), rng.uniform(1.9, height - 0.15))
            share, level = (hole[0] + hole[1]) / 2, (hole[2] + hole[3]) / 2
            place = np.array([start[0] + share * (end - start)[0], level, start[1] + share * (end - start)[1]])
            towards = (place - people) / np.linalg.norm(place - people)
            windows.append(towards)
            lights.append(_at(place - 0.05 * towards, people, rng.uniform(0.8, 2.2) / len(open_walls),
                              rng.uniform(-0.35, 0.1), 0.35 * float(hole[3] - hole[2])))
        wall = len(materials) - 1 if i == open_walls[0] and len(materials) > 3 else 1
        props.wall(start, end, height, wall, hole)
        _skirting(props, start, end, 2)
    lights += [_at(np.array([rng.uniform(low[0], high[0]), height - 0.1, rng.uniform(low[2], high[2])]), people,
                   rng.uniform(0.3, 1.0), rng.uniform(0.0, 0.8), rng.uniform(0.08, 0.4))
               for _ in range(rng.integers(1, 3) if rng.random() < 0.7 else 0)]
    add_seats(rng, props, materials, persons)
    _furnish(rng, props, materials, persons, camera, low, high)
    environment = skies.indoor(rng, np.asarray(materials[1].color), np.asarray(materials[0].color), windows)
    return Surroundings(environment, tuple(lights), props.mesh(), tuple(materials), name='room')


def _at(position: np.ndarray, target: np.ndarray, strength: float, warmth: float, radius: float) -> Light:
    square = float(np.sum((position - target)**2))
    return Light(position, (strength * np.pi * square * skies.color_of_warmth(warmth)).astype(np.float32), radius)


def _skirting(props: Props, start: np.ndarray, end: np.ndarray, material: int) -> None:
    """A strip of 8 cm along the foot of a wall."""
    along = (end - start) / max(np.linalg.norm(end - start), 1e-6)
    inwards = 0.012 * np.array([-along[1], along[0]])
    ends = np.array([start + inwards, end + inwards, start, end])
    low, high = ends.min(0), ends.max(0)
    props.box([low[0], 0, low[1]], [high[0], 0.08, high[1]], material)


def _furnish(rng: np.random.Generator, props: Props, materials: list[Material], persons: Sequence[Person],
             camera: Camera, low: np.ndarray, high: np.ndarray) -> None:
    """Boxes like tables, cupboards and shelves, clear of people and of the camera's view of them."""
    eye = camera.position[[0, 2]]
    clear = [person.mesh.vertices[:, [0, 2]].mean(0).astype(np.float64) for person in persons]
    for _ in range(rng.integers(2, 9)):
        size = rng.uniform([0.3, 0.3, 0.3], [1.4, 2.0, 0.7])
        if rng.random() < 0.5:
            size = size[[2, 1, 0]]
        place = rng.uniform(low[[0, 2]], high[[0, 2]])
        # Furniture stands at the nearest wall.
        axis = int(np.argmin(np.minimum(place - low[[0, 2]], high[[0, 2]] - place)))
        half = size[[0, 2]] / 2
        lower, upper = low[[0, 2]] + half, high[[0, 2]] - half
        place[axis] = lower[axis] if place[axis] - low[[0, 2]][axis] < high[[0, 2]][axis] - place[axis] else upper[axis]
        place = np.clip(place, np.minimum(lower, upper), np.maximum(lower, upper))
        radius = float(np.hypot(*half))
        near = [person.mesh.vertices[:, [0, 2]] for person in persons]
        if min(np.linalg.norm(points - place, axis=1).min() for points in near) < radius + 0.1:
            continue
        if min(_distance(place, eye, other) for other in clear) < radius + 0.3:
            continue
        tone = rng.uniform(0.05, 0.6)
        color = tone * np.array([1, 0.7, 0.45]) if rng.random() < 0.5 else tone * rng.uniform(0.4, 1.2, 3)
        pattern = str(rng.choice(['planks', 'planks', 'plain', 'plain', 'boards']))
        materials.append(matter(rng, color, pattern, scale=0.15))
        foot = np.array([place[0], 0, place[1]])
        props.box(foot - size * [0.5, 0, 0.5], foot + size * [0.5, 1, 0.5], len(materials) - 1)


def _distance(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    """Metres from a point to the line between two others, on the floor."""
    way = end - start
    t = np.clip((point - start) @ way / max(float(way @ way), 1e-9), 0, 1)
    return float(np.linalg.norm(point - start - t * way))
