"""Geometry of a person's crop: box to centre and scale, and the unbiased (UDP) map between image and crop.

UDP measures lengths between pixel centres: a crop of ``scale`` (w, h) source pixels maps onto ``W - 1`` by ``H - 1``
pixel steps of the network input, so mirroring and resizing commute exactly.
Huang et al., "The Devil is in the Details: Delving into Unbiased Data Processing for Human Pose Estimation", CVPR 2020.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import torch

ArrayLike = TypeVar('ArrayLike', np.ndarray, torch.Tensor)


def box_to_center_scale(
    bbox_xyxy: np.ndarray, padding: float = 1.25, aspect: float = 3 / 4) -> tuple[np.ndarray, np.ndarray]:
    """Centre and padded extent of a box, widened or heightened to ``aspect`` = w / h of the network input.

    Args:
        bbox_xyxy: (..., 4) x1, y1, x2, y2, pixels of the source image.

    Returns:
        centre (..., 2) x, y and scale (..., 2) w, h, float32, pixels of the source image.
    """
    box = np.asarray(bbox_xyxy, dtype=np.float32)
    center = (box[..., :2] + box[..., 2:]) / 2
    size = (box[..., 2:] - box[..., :2]) * np.float32(padding)
    return center, fix_aspect(size, aspect)


def fix_aspect(size: np.ndarray, aspect: float) -> np.ndarray:
    """Grow (..., 2) extents w, h in one direction so that w / h = ``aspect``."""
    width, height = size[..., 0], size[..., 1]
    grown = np.stack([np.maximum(width, height * aspect), np.maximum(height, width / aspect)], axis=-1)
    return grown.astype(np.float32)


def udp_matrix(
    center: np.ndarray, scale: np.ndarray, input_size: tuple[int, int], rotation: float = 0.0) -> np.ndarray:
    """The (2, 3) float32 affine matrix from pixels of the source image to pixels of the network input.

    Args:
        center: (2,) x, y of the crop, source pixels.
        scale: (2,) w, h of the crop, source pixels.
        input_size: (W, H) of the network input.
        rotation: degrees by which the picture turns about the centre, clockwise on the screen (y points down).
    """
    last = np.asarray(input_size, dtype=np.float64) - 1
    angle = np.deg2rad(rotation)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    linear = (last / np.asarray(scale, dtype=np.float64))[:, None] * turn
    shift = last / 2 - linear @ np.asarray(center, dtype=np.float64)
    return np.concatenate([linear, shift[:, None]], axis=1).astype(np.float32)


def points_to_image(
    points: ArrayLike, center: ArrayLike, scale: ArrayLike, input_size: tuple[int, int]) -> ArrayLike:
    """Map points of an unrotated crop back to the source image: the inverse of ``udp_matrix``.

    Args:
        points: (..., K, 2) x, y, pixels of the network input.
        center: (..., 2) x, y, pixels of the source image; leading dimensions as those of ``points``.
        scale: (..., 2) w, h, pixels of the source image.
        input_size: (W, H) of the network input.

    Returns:
        (..., K, 2) x, y, pixels of the source image.
    """
    width, height = input_size
    last = (torch.tensor((width - 1, height - 1), dtype=points.dtype, device=points.device)
            if isinstance(points, torch.Tensor) else np.array((width - 1, height - 1), dtype=points.dtype))
    return (points / last - 0.5) * scale[..., None, :] + center[..., None, :]


def apply_affine(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Map (..., 2) points x, y with a (2, 3) affine matrix; the dtype of ``points`` is kept."""
    return (points @ matrix[:, :2].T + matrix[:, 2]).astype(points.dtype)
