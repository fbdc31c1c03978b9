"""Pictures at other sizes."""

from __future__ import annotations

import cv2
import numpy as np


def cover(image: np.ndarray, size: tuple[int, int], down: float = 0.5, right: float = 0.5) -> np.ndarray:
    """Scale ``image`` (H, W, ...) until it covers ``size`` (H, W), and cut a part of that size out of it.

    Args:
        down, right: where, in [0, 1): 0 is the upper left corner.
    """
    scale = max(size[0] / image.shape[0], size[1] / image.shape[1])
    height, width = (max(want, round(side * scale)) for want, side in zip(size, image.shape))
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    top, left = int(down * (height - size[0] + 1)), int(right * (width - size[1] + 1))
    return image[top:top + size[0], left:left + size[1]].copy()
