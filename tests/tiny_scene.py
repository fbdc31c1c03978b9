"""A body of ellipsoids before a wall, whose depth, normals and outline follow from formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Centre and half axes in metres, the body's middle as origin: head, trunk, arms, legs.
_PARTS = (((0, -0.75, 0), (0.1, 0.13, 0.12)), ((0, -0.3, 0), (0.2, 0.32, 0.13)),
          ((-0.28, -0.25, -0.1), (0.06, 0.3, 0.06)), ((0.28, -0.25, 0.05), (0.06, 0.3, 0.06)),
          ((-0.1, 0.45, 0), (0.09, 0.45, 0.09)), ((0.1, 0.45, -0.05), (0.09, 0.45, 0.09)))


class Scene(NamedTuple):
    """depth (H, W) metres; normal (H, W, 3), camera frame, zero off the body; mask (H, W), 255 on it; K (3, 3)."""

    depth: np.ndarray
    normal: np.ndarray
    mask: np.ndarray
    camera: np.ndarray


def make_scene(height: int = 160, width: int = 120, distance: float = 2.5) -> Scene:
    """The body ``distance`` metres away, and the wall 6 metres."""
    focal = 0.9 * height
    camera = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1]])
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    rays = np.stack([(columns - camera[0, 2]) / focal, (rows - camera[1, 2]) / focal, np.ones((height, width))], -1)
    depth, normal = np.full((height, width), np.inf), np.zeros((height, width, 3))
    for center, axes in _PARTS:
        center = np.array(center) + (0, 0, distance)
        # The ray t d meets |(t d - c) / axes| = 1.
        a = ((rays / axes)**2).sum(-1)
        b = -2 * (rays / axes * (center / axes)).sum(-1)
        root = b * b - 4 * a * (((center / axes)**2).sum() - 1)
        hit = np.where(root > 0, (-b - np.sqrt(np.maximum(root, 0))) / (2 * a), np.inf)
        near = hit < depth
        depth = np.where(near, hit, depth)
        outward = (rays * np.where(near, hit, 0)[..., None] - center) / np.square(axes)
        normal = np.where(near[..., None], outward / np.linalg.norm(outward, axis=-1, keepdims=True), normal)
    body = np.isfinite(depth)
    return Scene(np.where(body, depth, 6).astype(np.float32), normal.astype(np.float32),
                 np.where(body, 255, 0).astype(np.uint8), camera.astype(np.float32))
