"""Environments: radiance from all directions, of skies, rooms and studios. A map's mean brightness is about 1."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.environment import map_directions
from sapiens2.synth.render.noise import fractal, smoothstep

ROWS = 96
SMALL_ROWS = 48


def color_of_warmth(warmth: float) -> np.ndarray:
    """(3,) linear RGB of mean 1, from bluish (-1) over white (0) to the yellow of bulbs (1)."""
    color = np.array([1 + 0.35 * warmth, 1 + 0.02 * warmth, 1 - 0.45 * warmth])
    return (color / color.mean()).astype(np.float32)


def outdoor(rng: np.random.Generator, ground: np.ndarray, sun: np.ndarray | None) -> np.ndarray:
    """Sky with clouds above, a blurred line of trees or houses at the horizon, ground below.

    Args:
        rng: source of chance.
        ground: (3,) linear albedo of the ground.
        sun: (3,) unit vector to the sun, None under clouds.
    """
    directions, _ = map_directions(ROWS)
    up = directions[:, 1]
    seed = int(rng.integers(2**31))
    if sun is None:
        zenith, horizon = np.float32([0.95, 1.0, 1.06]), np.float32([0.85, 0.88, 0.92])
    else:
        zenith, horizon = np.float32([0.28, 0.48, 0.95]), np.float32([0.95, 1.02, 1.1])
    sky = horizon + smoothstep(0, 0.7, up)[:, None] * (zenith - horizon)
    height = np.maximum(up, 0.05)[:, None]
    clouds = fractal(directions / height * np.float32([1, 0, 1]), 1.3, 4, seed)[:, 0]
    low = rng.uniform(-0.4, 0.4)
    cover = smoothstep(low, low + 0.35, clouds) * smoothstep(0.03, 0.2, up)
    sky += (0.8 * cover)[:, None] * (np.float32([1.25, 1.25, 1.27]) * (0.9 + 0.2 * clouds[:, None]) - sky)
    if sun is not None:
        near = np.maximum(directions @ sun.astype(np.float32), 0)
        sky += (0.9 * near**8 + 2 * near**60)[:, None] * np.float32([1.1, 0.95, 0.75])
    line = np.concatenate([directions[:, [0]], np.zeros_like(directions[:, :1]), directions[:, [2]]], 1)
    line /= np.maximum(np.linalg.norm(line, axis=1, keepdims=True), 1e-6)
    top = rng.uniform(0.0, 0.28) * (0.7 + 0.9 * fractal(line, 0.35, 4, seed + 7)[:, 0])
    leaf = fractal(directions, 0.09, 3, seed + 9)
    far = np.float32(rng.choice([[0.05, 0.09, 0.03], [0.22, 0.2, 0.18], [0.12, 0.13, 0.1]])) * (1.2 + leaf[:, :1])
    sky += smoothstep(0.02, -0.02, up - top)[:, None] * (far - sky)
    below = ground * np.float32(0.9) * (0.95 + 0.1 * leaf[:, 1:2])
    sky += smoothstep(0.0, -0.03, up)[:, None] * (below - sky)
    return _map(sky, ROWS)


def indoor(rng: np.random.Generator, walls: np.ndarray, floor: np.ndarray, windows: list[np.ndarray]) -> np.ndarray:
    """A room of those colours, with bright windows.

    Args:
        rng: source of chance.
        walls, floor: (3,) linear albedo.
        windows: unit vectors (3,) towards them.
    """
    directions, _ = map_directions(SMALL_ROWS)
    up = directions[:, 1:2]
    warm = color_of_warmth(rng.uniform(-0.2, 0.5))
    # Light that has come from several walls is less coloured than one wall.
    walls, floor = (0.5 * color + 0.5 * color.mean() for color in (walls, floor))
    ceiling = np.float32([0.8, 0.8, 0.8])
    room = walls + smoothstep(0.35, 0.8, up) * (ceiling - walls) + smoothstep(-0.3, -0.8, up) * (0.6 * floor - walls)
    room = room * warm * (0.9 + 0.35 * fractal(directions, 0.7, 2, int(rng.integers(2**31)))[:, :1])
    for window in windows:
        room += soft_box(directions, window, rng.uniform(0.18, 0.35), rng.uniform(4, 9), color_of_warmth(-0.25))
    return _map(room, SMALL_ROWS)


def studio(rng: np.random.Generator, backdrop: np.ndarray) -> np.ndarray:
    """A dim room with soft boxes."""
    directions, _ = map_directions(SMALL_ROWS)
    up = directions[:, 1:2]
    room = rng.uniform(0.15, 0.6) * (0.5 + 0.5 * backdrop + 0.5 * up * np.float32([1, 1, 1]).clip(0))
    room = np.maximum(room, 0.05).astype(np.float32)
    for _ in range(rng.integers(1, 4)):
        azimuth, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.1, 0.9)
        towards = np.array([np.sin(azimuth), height, np.cos(azimuth)])
        room += soft_box(directions, towards / np.linalg.norm(towards), rng.uniform(0.15, 0.45), rng.uniform(2, 9),
                         color_of_warmth(rng.uniform(-0.2, 0.3)))
    return _map(room, SMALL_ROWS)


def soft_box(directions: np.ndarray, towards: np.ndarray, size: float, strength: float,
             color: np.ndarray) -> np.ndarray:
    """(N, 3) radiance of a square light of half side ``size`` radians seen in direction ``towards`` (3,)."""
    right = np.cross([0, 1, 0], towards)
    right /= max(np.linalg.norm(right), 1e-6)
    above = np.cross(towards, right)
    local = directions @ np.stack([right, above, towards]).T.astype(np.float32)
    edge = np.maximum(np.abs(local[:, 0]), np.abs(local[:, 1]))
    inside = smoothstep(size * 1.25, size * 0.9, edge) * (local[:, 2] > 0)
    return np.float32(strength) * inside[:, None] * color


def of_picture(backdrop: np.ndarray, forward: np.ndarray) -> np.ndarray:
    """What a picture tells about the light, of mean 1: its colours by side and height, also behind the camera.

    Args:
        backdrop: (H, W, 3) linear radiance.
        forward: (3,) unit vector that the camera looks along.
    """
    directions, _ = map_directions(SMALL_ROWS)
    right = np.cross(forward, [0, 1, 0])
    right /= max(np.linalg.norm(right), 1e-6)
    rows, columns = np.array_split(backdrop, 3, 0), np.array_split(backdrop, 3, 1)
    # Light is less coloured than what it falls on.
    backdrop = 0.3 * backdrop + 0.7 * backdrop.mean(2, keepdims=True)
    backdrop = backdrop / max(float(backdrop.mean()), 1e-3)
    mean = backdrop.mean((0, 1))
    # The sky is the picture's upper third, its floor the lower one; the sides differ by half as much.
    shares = smoothstep(-0.2, 0.8, directions[:, 1:2]), smoothstep(0.2, -0.8, directions[:, 1:2])
    light = mean + shares[0] * (1.3 * rows[0].mean((0, 1)) - mean) + shares[1] * (rows[2].mean((0, 1)) * 0.7 - mean)
    side = directions @ right.astype(np.float32)
    light += 0.5 * np.maximum(side, 0)[:, None] * (columns[2].mean((0, 1)) - mean)
    light += 0.5 * np.maximum(-side, 0)[:, None] * (columns[0].mean((0, 1)) - mean)
    return _map(light, SMALL_ROWS)


def _map(radiance: np.ndarray, rows: int) -> np.ndarray:
    """(rows, 2 rows, 3) float32 of pixels (N, 3), never quite black."""
    return np.ascontiguousarray(np.maximum(radiance, 0.01).reshape(rows, 2 * rows, 3), np.float32)
