"""The table of fields, and how a movement of the picture moves them all.

A geometric transform states its 3x3 matrix from old to new pixels (pixel centres at integers), what the camera does,
and how to resample one raster. Everything else that lives in the picture follows from that here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.datasets.metainfo import IGNORE_LABEL
from sapiens2.utils.topdown import apply_affine


@dataclass(frozen=True)
class Field:
    """How one kind of raster is resampled.

    Attributes:
        interpolation: flag of OpenCV for values between pixels.
        pad_value: value outside the picture.
        is_vector: whether it holds directions in the camera frame, which turn with the camera.
        has_sides: whether a mirroring swaps its left and right classes.
    """

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
    'img': Field(cv2.INTER_LINEAR),
    'sem_seg': Field(cv2.INTER_NEAREST_EXACT, pad_value=IGNORE_LABEL, has_sides=True),
    'normal': Field(cv2.INTER_LINEAR, is_vector=True),
    'depth': Field(cv2.INTER_NEAREST_EXACT),
    'albedo': Field(cv2.INTER_LINEAR),
    'mask': Field(cv2.INTER_NEAREST_EXACT),
}
_POINTS = ('keypoints', 'bbox_center')

Results = dict[str, Any]
Resample = Callable[[np.ndarray, Field], np.ndarray]


def move(results: Results, resample: Resample, matrix: np.ndarray, turn: Optional[np.ndarray] = None) -> Results:
    """Move all that ``results`` holds, in place.

    Args:
        results: fields by the names of ``FIELDS``, (H, W) or (H, W, C); K (3, 3), pixels; keypoints (..., 2) and
            bbox_center (..., 2), x, y, pixels; bboxes (..., 4), x1, y1, x2, y2, pixels; bbox_scale (..., 2), w, h.
        resample: gives a raster at its new place.
        matrix: (3, 3) from old to new pixels.
        turn: (3, 3) orthogonal, from the old to the new camera frame; None if the camera stays.
    """
    for name, field in FIELDS.items():
        if name in results:
            results[name] = resample(results[name], field)
            if turn is not None and field.is_vector:
                results[name] = cv2.transform(results[name], turn)
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
    results['img_shape'] = results['img'].shape[:2]
    return results


def _map_boxes(boxes: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The upright boxes round the moved corners."""
    corners = apply_affine(boxes[..., [[0, 1], [2, 1], [0, 3], [2, 3]]], matrix[:2])
    return np.concatenate([corners.min(axis=-2), corners.max(axis=-2)], axis=-1)
