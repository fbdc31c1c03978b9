"""Cameras drawn at random that frame people as photographs do: whole, from the hips or the shoulders up, faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sapiens2.synth.render.cameras import look_at, pixel_rays, project
from sapiens2.synth.render.features import keypoint_index
from sapiens2.synth.scene import Camera, Person

# Share of pictures of each kind of shot: all of the body, from between hips and knees up, from the chest up, the head.
SHOTS = {'whole': 0.45, 'hips': 0.25, 'bust': 0.20, 'face': 0.10}
# Share of the picture's height that is filled: by all of the body, by a head, by what is not cut off of a body.
FILLS = {'whole': (0.62, 0.9), 'face': (0.5, 0.9), 'hips': (0.85, 0.97), 'bust': (0.82, 0.97)}
# At most this share of the width is filled.
BROADEST = 0.92
# Share of the pictures of all of the body that show everybody, where there are several people; the others one of them.
EVERYBODY = 0.7
# Focal lengths in millimetres on a frame 36 mm wide, along the longer side.
FOCAL_LENGTHS = (24, 135)
# Metres that the camera stays away from people and above the ground.
NEAREST, LOWEST = 0.45, 0.12
# Somebody who is hidden by more than this share is looked at from another side, if one of so many tries is better.
HIDDEN, TRIES = 0.35, 12
# Parts of a picture's sides by which it is told who hides whom.
_CELLS = 24
# Every so many-th vertex tells where a body is.
_EVERY = 11
# Share of the stature at rest that is the upper part of the head, hats and hair included.
_CROWN = 0.09


@dataclass(frozen=True)
class _Subject:
    """What a shot shows: people, points (n, 3) that shall be in the picture, whether the body is cut off below them."""

    people: tuple[int, ...]
    points: np.ndarray
    cut: bool


def sample_shot(rng: np.random.Generator, shots: Sequence[str] = tuple(SHOTS)) -> str:
    """One of ``shots``, by their shares in ``SHOTS``."""
    chances = np.array([SHOTS[name] for name in shots])
    return str(rng.choice(list(shots), p=chances / chances.sum()))


def sample_camera(rng: np.random.Generator, persons: Sequence[Person], size: tuple[int, int], shot: str,
                  focal_lengths: tuple[float, float] = FOCAL_LENGTHS) -> Camera:
    """A camera that looks at one of the people or at all of them, from the height of a child's eyes to above the head,
    mostly level, from the front in most cases.

    Args:
        rng: source of chance.
        persons: at least one.
        size: (H, W) of the picture, pixels.
        shot: what of them is shown, a name of ``SHOTS``.
        focal_lengths: shortest and longest, millimetres on a frame 36 mm wide, along the longer side; a camera that
            other people keep from coming near enough zooms in further.
    """
    subject = _subject(rng, shot, persons)
    best, least = None, np.inf
    for _ in range(TRIES if len(persons) > 1 else 1):
        camera = _aimed(rng, shot, subject, persons, size, focal_lengths)
        hidden = _hidden(camera, subject, persons)
        if best is None or hidden < least:
            best, least = camera, hidden
        if least <= HIDDEN:
            break
    return best


def _subject(rng: np.random.Generator, shot: str, persons: Sequence[Person]) -> _Subject:
    chosen = int(rng.integers(len(persons)))
    if shot == 'whole':
        people = tuple(range(len(persons))) if rng.random() < EVERYBODY else (chosen,)
        return _Subject(people, np.concatenate([persons[i].mesh.vertices[::_EVERY] for i in people]), False)
    person, index = persons[chosen], keypoint_index()

    def at(*names: str) -> np.ndarray:
        return person.keypoints[[index[name] for name in names]]

    height = person.mesh.rest[:, 1]
    crown = person.mesh.vertices[::_EVERY][height[::_EVERY] > height.max() - _CROWN * np.ptp(height)]
    parts = [crown, at('tip_of_chin', 'nose', 'left_ear', 'right_ear')]
    hips, shoulders = at('left_hip', 'right_hip'), at('left_shoulder', 'right_shoulder')
    if shot == 'bust':
        parts += [shoulders, shoulders + rng.uniform(0.1, 0.55) * (hips - shoulders)]
    elif shot == 'hips':
        parts += [shoulders, hips, hips + rng.uniform(0, 0.95) * (at('left_knee', 'right_knee') - hips)]
    return _Subject((chosen,), np.concatenate(parts), shot != 'face')


def _aimed(rng: np.random.Generator, shot: str, subject: _Subject, persons: Sequence[Person],
           size: tuple[int, int], focal_lengths: tuple[float, float]) -> Camera:
    """A camera from a direction drawn at random, as far away as the shot asks for."""
    height, width = size
    azimuth = _facing(persons[subject.people[rng.integers(len(subject.people))]]) + rng.normal(0, 0.8)
    if rng.random() < 0.12:
        azimuth += rng.uniform(-np.pi, np.pi)
    elevation = np.clip(rng.normal(0.05, 0.16), -0.35, 0.7)
    away = np.array([np.sin(azimuth) * np.cos(elevation), np.sin(elevation), np.cos(azimuth) * np.cos(elevation)])
    focal = np.exp(rng.uniform(*np.log(focal_lengths))) / 36 * max(size)
    roll = rng.normal(0, np.radians(2.5)) if rng.random() < 0.85 else rng.normal(0, np.radians(8))
    centre = np.array([(width - 1) / 2, (height - 1) / 2]) + rng.normal(0, 0.004, 2) * max(size)
    filled = np.array([BROADEST * width, rng.uniform(*FILLS[shot]) * height])
    aside = rng.normal(0, 0.25), rng.uniform(-0.8, 0.8)
    low, high = subject.points.min(0).astype(np.float64), subject.points.max(0).astype(np.float64)
    target = (low + high) / 2
    distance = max(2 * focal * np.linalg.norm(high - low) / filled.min(), NEAREST)
    position = target + away * distance
    rotation = look_at(position, target, roll)
    # Nearer things look larger, so that neither the distance nor the aim can be told at once.
    for _ in range(6):
        low, high = _box(Camera(_matrix(focal, centre), rotation, position, size), subject.points)
        position, distance = _free_place(target, away, distance * ((high - low) / filled).max(), persons)
        # A camera that had to stay further away zooms in by as much.
        low, high = _box(Camera(_matrix(focal, centre), rotation, position, size), subject.points)
        focal *= max(1 / ((high - low) / filled).max(), 1)
        camera = Camera(_matrix(focal, centre), rotation, position, size)
        low, high = _box(camera, subject.points)
        beside = (low + high) / 2 - _middle(size, high - low, aside, subject.cut)
        rotation = look_at(position, position + pixel_rays(camera, (centre + beside)[None])[0].astype(np.float64), roll)
    return replace(camera, rotation=rotation)


def _middle(size: tuple[int, int], extent: np.ndarray, aside: tuple[float, float], cut: bool) -> np.ndarray:
    """(2,) pixel where the middle of the subject comes to lie; ``aside``: in shares of the room that is left."""
    spare = np.maximum(np.array(size[::-1]) - extent, 0) / 2
    middle = (np.array(size[::-1]) - 1) / 2 + np.clip(aside, -0.9, 0.9) * spare
    if cut:
        middle[1] = size[0] - 1 - extent[1] / 2
    return middle


def _matrix(focal: float, centre: np.ndarray) -> np.ndarray:
    return np.array([[focal, 0, centre[0]], [0, focal, centre[1]], [0, 0, 1]])


def _box(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest (x, y) of points, pixels."""
    pixels, _ = project(camera, points)
    return pixels.min(0), pixels.max(0)


def _hidden(camera: Camera, subject: _Subject, persons: Sequence[Person]) -> float:
    """How much of that person of the subject of whom least is seen lies behind others, as a share."""
    seen = [_cells(camera, person) for person in persons]
    shares = []
    for number in subject.people:
        cells, depth = seen[number]
        before = [other for i, (other, far) in enumerate(seen) if i != number and far < depth]
        shares.append(float(np.isin(cells, np.concatenate(before)).mean()) if before and len(cells) else 0.0)
    return max(shares)


def _cells(camera: Camera, person: Person) -> tuple[np.ndarray, float]:
    """Numbers of the cells of the picture that show a person, and the person's median depth in metres."""
    pixels, depth = project(camera, person.mesh.vertices[::_EVERY])
    place = np.floor(pixels * _CELLS / np.array(camera.size[::-1])).astype(np.int64)
    inside = (depth > 0) & (place >= 0).all(1) & (place < _CELLS).all(1)
    return np.unique(place[inside] @ [1, _CELLS]), float(np.median(depth))


def _facing(person: Person) -> float:
    """Azimuth, atan2(x, z), that the chest looks to."""
    index = keypoint_index()
    across = person.keypoints[index['left_shoulder']] - person.keypoints[index['right_shoulder']]
    return float(np.arctan2(-across[2], across[0]))


def _free_place(target: np.ndarray, away: np.ndarray, distance: float,
                persons: Sequence[Person]) -> tuple[np.ndarray, float]:
    """A place in that direction outside everybody and above the ground, and its distance from the target."""
    vertices = np.concatenate([person.mesh.vertices[::_EVERY] for person in persons])
    while True:
        position = target + away * distance
        position[1] = max(position[1], LOWEST)
        if np.abs(vertices - position).max(1).min() > NEAREST:
            return position, distance
        distance += 0.1
