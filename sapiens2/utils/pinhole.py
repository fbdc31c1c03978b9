"""Points of pictures taken by a camera without distortion."""

from __future__ import annotations

import numpy as np


def unproject(depth: np.ndarray, intrinsics: np.ndarray) -> np.ndarray:
    """Points (H, W, 3), metres, camera frame, seen at each pixel of ``depth`` (H, W), metres, with K (3, 3)."""
    height, width = depth.shape
    inverse = np.linalg.inv(intrinsics.astype(np.float64)).astype(np.float32)
    columns, rows = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
    # Stored one coordinate after the other, as the batch wants it; the view has the order of all rasters.
    points = np.empty((3, height, width), dtype=np.float32)
    for axis in (0, 1):
        # The ray through a pixel, K^-1 (column, row, 1), is a sum of a row and a column vector.
        np.add(inverse[axis, 0] * columns, inverse[axis, 1] * rows + inverse[axis, 2], out=points[axis])
        points[axis] *= depth
    points[2] = depth
    return points.transpose(1, 2, 0)
