"""Cameras: projection and rays."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.scene import Camera


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
