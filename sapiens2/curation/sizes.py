"""Pictures made smaller."""

from __future__ import annotations

import cv2
import numpy as np


def at_most(picture: np.ndarray, side: int) -> np.ndarray:
    """A (H, W) or (H, W, 3) picture whose longer side has at most ``side`` pixels, and the shorter at least one."""
    height, width = picture.shape[:2]
    ratio = side / max(height, width)
    if ratio >= 1:
        return picture
    return cv2.resize(picture, None, fx=max(ratio, 1 / width), fy=max(ratio, 1 / height),
                      interpolation=cv2.INTER_AREA)
