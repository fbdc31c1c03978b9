"""The table of fields, and how points and cameras follow a movement of the picture.

A geometric step states what becomes of the picture (``view.View``). How each kind of raster is resampled, and what a
mirroring or turning does to it, stands in the table here, once for all steps.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.datasets.metainfo import IGNORE_LABEL
from sapiens2.utils.topdown import apply_affine

Results = MutableMapping[str, Any]


@dataclass(frozen=True)
class Field:
    """How one kind of raster is stored and resampled.

    Attributes:
        dtype: of its values.
        channels: 0 for (H, W), else the C of (H, W, C).
        interpolation: flag of OpenCV for values between pixels.
        pad_value: value outside the picture.
        is_vector: whether it holds directions in the camera frame, which turn with the camera.
        has_sides: whether a mirroring swaps its left and right classes.
    """

    dtype: type
    channels: int
    interpolation: int
    pad_value: float = 0.0
    is_vector: bool = False
    has_sides: bool = False

    @property
    def warp_interpolation(self) -> int:
        """The flag for an affine warp, which has fewer kinds than a resize."""
        return cv2.INTER_NEAREST if self.interpolation == cv2.INTER_NEAREST_EXACT else cv2.INTER_LINEAR


# INTER_NEAREST is off by half a pixel; the exact kind keeps labels on the picture. Depth is never mixed across the edge
# of a person, where the mean of two surfaces would be a point in the air.
FIELDS: dict[str, Field] = {
    'img': Field(np.uint8, 3, cv2.INTER_LINEAR),
    'sem_seg': Field(np.uint8, 0, cv2.INTER_NEAREST_EXACT, pad_value=IGNORE_LABEL, has_sides=True),
    'normal': Field(np.float32, 3, cv2.INTER_LINEAR, is_vector=True),
    'depth': Field(np.float32, 0, cv2.INTER_NEAREST_EXACT),
    'albedo': Field(np.float32, 3, cv2.INTER_LINEAR),
    'mask': Field(np.uint8, 0, cv2.INTER_NEAREST_EXACT),
}
_POINTS = ('keypoints', 'bbox_center')


def raster_fault(name: str, raster: Any) -> Optional[str]:
    """What keeps ``raster`` from being field ``name``; None if it can be."""
    field = FIELDS[name]
    if (isinstance(raster, np.ndarray) and raster.dtype == field.dtype
            and raster.ndim == 2 + bool(field.channels) and raster.shape[2:] == (field.channels,) * (raster.ndim - 2)):
        return None
    found = (f'shape {raster.shape} and {raster.dtype}' if isinstance(raster, np.ndarray)
             else f'type {type(raster).__name__}')
    wanted = f'(H, W, {field.channels})' if field.channels else '(H, W)'
    return f'{name} of {found}: it must be a NumPy array {wanted} of {np.dtype(field.dtype)}'


def move_points(results: Results, matrix: np.ndarray, turn: Optional[np.ndarray] = None) -> None:
    """Move camera, points and boxes, in place.

    Args:
        results: may hold K (3, 3), pixels; keypoints (..., 2) and bbox_center (..., 2), x, y, pixels;
            bboxes (..., 4), x1, y1, x2, y2, pixels; bbox_scale (..., 2), w, h, pixels.
        matrix: (3, 3) from old to new pixels, pixel centres at integers.
        turn: (3, 3) orthogonal, from the old to the new camera frame; None if the camera stays.
    """
    if 'K' in results:
        # x = K X; new x = M x and new X = Q X, so the new K is M K Q^T.
        camera = matrix @ results['K']
        results['K'] = (camera if turn is None else camera @ turn.T).astype(np.float32)
    for name in _POINTS:
        if name in results:
            results[name] = apply_affine(results[name], matrix[:2])
    if 'bboxes' in results:
        results['bboxes'] = _map_boxes(results['bboxes'], matrix)
    if 'bbox_scale' in results:
        results['bbox_scale'] = results['bbox_scale'] * np.linalg.norm(matrix[:2, :2], axis=0).astype(np.float32)


def _map_boxes(boxes: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The upright boxes round the moved corners."""
    corners = apply_affine(boxes[..., [[0, 1], [2, 1], [0, 3], [2, 3]]], matrix[:2])
    return np.concatenate([corners.min(axis=-2), corners.max(axis=-2)], axis=-1)
