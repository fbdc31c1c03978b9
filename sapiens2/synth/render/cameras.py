"""Cameras: projection, rays, and cameras drawn at random that look at people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.synth.render.features import keypoint_index
from sapiens2.synth.scene import Camera, Person

# Share of pictures and the height that fills the picture, in statures, for each kind of shot.
SHOTS = {'full': (0.34, 1.0), 'knees': (0.14, 0.72), 'waist': (0.20, 0.48), 'bust': (0.16, 0.30), 'face': (0.12, 0.17),
         'detail': (0.04, 0.25)}
# Focal lengths in millimetres on a frame 36 mm wide, along the longer side.
FOCAL_LENGTHS = (24, 135)
# Metres that the camera stays away from people and above the ground.
NEAREST, LOWEST = 0.45, 0.12


def project(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 2) (x, y) and depths (N,) metres of points (N, 3) in the world; pixels hold where depth > 0."""
    local = (points - camera.position) @ camera.rotation.T
    depth = local[:, 2]
    image = local @ camera.K.T
    return image[:, :2] / np.where(np.abs(depth) > 1e-9, depth, 1e-9)[:, None], depth


def pixel_rays(camera: Camera, pixels: np.ndarray) -> np.ndarray:
    """(N, 3) float32 unit vectors in the world through pixels (N, 2) (x, y)."""
    inverse = camera.rotation.T @ np.linalg.inv(camera.K)
    directions = pixels @ inverse[:, :2].T + inverse[:, 2]
    return (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)


def pixel_grid(size: tuple[int, int]) -> np.ndarray:
    """(H * W, 2) float64 (x, y) of the pixel centres, row by row."""
    y, x = np.mgrid[:size[0], :size[1]]
    return np.stack([x.ravel(), y.ravel()], 1).astype(np.float64)


def look_at(position: np.ndarray, target: np.ndarray, roll: float = 0) -> np.ndarray:
    """(3, 3) rotation from the world to a camera at ``position`` that looks at ``target``, rolled by radians."""
    forward = target - position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0, 1, 0])
    if np.linalg.norm(right) < 1e-6:
        right = np.array([1.0, 0, 0])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    cos, sin = np.cos(roll), np.sin(roll)
    return np.stack([cos * right + sin * down, cos * down - sin * right, forward])


def sample_camera(rng: np.random.Generator, persons: Sequence[Person], size: tuple[int, int]) -> Camera:
    """A camera that looks at one of the people, or for a full shot at all of them.

    Shots go from the full body to the face, with focal lengths from 24 to 135 mm, from the height of a child's eyes to
    above the head, mostly level, from the front in most cases.

    Args:
        rng: source of chance.
        persons: at least one.
        size: (H, W) of the picture, pixels.
    """
    height, width = size
    names = list(SHOTS)
    shot = names[rng.choice(len(names), p=np.array([SHOTS[name][0] for name in names]))]
    person = persons[rng.integers(len(persons))]
    points = person.mesh.vertices
    if shot == 'full':
        points = np.concatenate([other.mesh.vertices for other in persons])
    low, high = points.min(0).astype(np.float64), points.max(0).astype(np.float64)
    # Of the unposed body, so that a face is as large in the picture whether people sit or stand.
    stature = float(np.ptp(person.mesh.rest[:, 1]))
    target, extent = _subject(rng, shot, person, (low + high) / 2, stature)
    azimuth = _facing(person) + rng.normal(0, 0.75 if shot in ('face', 'bust') else 1.0)
    if rng.random() < 0.12:
        azimuth += rng.uniform(-np.pi, np.pi)
    elevation = np.clip(rng.normal(0.05, 0.16), -0.35, 0.7)
    millimetres = np.exp(rng.uniform(np.log(FOCAL_LENGTHS[0]), np.log(FOCAL_LENGTHS[1])))
    focal = millimetres / 36 * max(size)
    # The subject fills most of the picture both ways.
    fill = rng.uniform(0.7, 1.0)
    tall = extent * stature if shot != 'full' else high[1] - low[1]
    broad = 0.6 * tall if shot != 'full' else np.hypot(high[0] - low[0], high[2] - low[2]) * 0.8
    distance = max(focal * tall / (fill * height), focal * broad / (fill * width))
    away = np.array([np.sin(azimuth) * np.cos(elevation), np.sin(elevation), np.cos(azimuth) * np.cos(elevation)])
    position, distance = _free_place(target, away, distance, persons)
    # A camera that had to stay further away zooms in by as much.
    focal *= max(distance * fill * min(height / tall, width / broad) / focal, 1)
    shift = rng.normal(0, 0.06, 2) * [tall, tall]
    aim = target + np.array([np.cos(azimuth), 0, -np.sin(azimuth)]) * shift[0] + np.array([0, shift[1], 0])
    roll = rng.normal(0, np.radians(2.5)) if rng.random() < 0.85 else rng.normal(0, np.radians(10))
    centre = np.array([(width - 1) / 2, (height - 1) / 2]) + rng.normal(0, 0.004, 2) * max(size)
    K = np.array([[focal, 0, centre[0]], [0, focal, centre[1]], [0, 0, 1]])
    return Camera(K=K, rotation=look_at(position, aim, roll), position=position, size=(height, width))


def _subject(rng: np.random.Generator, shot: str, person: Person, middle: np.ndarray,
             stature: float) -> tuple[np.ndarray, float]:
    """Point to look at and the height of the subject in statures."""
    extent = SHOTS[shot][1]
    if shot == 'full':
        return middle, extent
    index = keypoint_index()
    known = np.isfinite(person.keypoints).all()
    head = person.keypoints[index['nose']].astype(np.float64) if known else middle + [0, 0.42 * stature, 0]
    if shot == 'face':
        return head, extent
    if shot == 'detail' and known:
        name = rng.choice(['left_wrist', 'right_wrist', 'left_ankle', 'right_ankle', 'left_knee', 'right_elbow'])
        return person.keypoints[index[str(name)]].astype(np.float64), extent
    # The head stays in the picture, a little below its upper edge.
    down = head.copy()
    down[1] = head[1] + 0.10 * stature - 0.5 * extent * stature
    down[[0, 2]] = 0.5 * (head + middle)[[0, 2]]
    return down, extent


def _facing(person: Person) -> float:
    """Azimuth, atan2(x, z), that the chest looks to; 0 when the key points are not known."""
    if not np.isfinite(person.keypoints).all():
        return 0.0
    index = keypoint_index()
    across = person.keypoints[index['left_shoulder']] - person.keypoints[index['right_shoulder']]
    return float(np.arctan2(-across[2], across[0]))


def _free_place(target: np.ndarray, away: np.ndarray, distance: float,
                persons: Sequence[Person]) -> tuple[np.ndarray, float]:
    """A place in that direction outside everybody and above the ground, and its distance from the target."""
    for _ in range(40):
        position = target + away * distance
        apart = min(np.abs(person.mesh.vertices[::7] - position).max(1).min() for person in persons)
        if apart > NEAREST:
            break
        distance += 0.1
    position[1] = max(position[1], LOWEST)
    return position, float(np.linalg.norm(position - target))
