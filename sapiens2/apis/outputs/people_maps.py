"""Which person a pixel belongs to, by the boxes of people."""

from __future__ import annotations

import numpy as np


def people_map(labels: np.ndarray, boxes: np.ndarray, background: int = 0) -> np.ndarray:
    """(H, W) uint16: 0 for nobody, else the number of the person, from 1 on in the order of ``boxes``.

    Only pixels of a class other than ``background`` belong to somebody. One in several boxes goes to the box whose
    middle is nearest, in shares of that box's sides. That is geometry alone: where people reach across one another it
    errs.

    Args:
        labels: (H, W) classes.
        boxes: (people, 4) x1, y1, x2, y2, pixels, pixel centres at integers.
    """
    height, width = labels.shape
    owner = np.zeros(labels.shape, dtype=np.uint16)
    nearest = np.full(labels.shape, np.inf, dtype=np.float32)
    for number, (x1, y1, x2, y2) in enumerate(np.asarray(boxes, dtype=np.float64), 1):
        left, top = max(0, int(np.ceil(x1))), max(0, int(np.ceil(y1)))
        right, bottom = min(width, int(np.floor(x2)) + 1), min(height, int(np.floor(y2)) + 1)
        if right <= left or bottom <= top:
            continue
        part = slice(top, bottom), slice(left, right)
        x = (2 * np.arange(left, right) - x1 - x2) / max(x2 - x1, 1e-6)
        y = (2 * np.arange(top, bottom) - y1 - y2) / max(y2 - y1, 1e-6)
        distance = (x**2 + y[:, None]**2).astype(np.float32)
        taken = (labels[part] != background) & (distance < nearest[part])
        owner[part][taken] = number
        nearest[part][taken] = distance[taken]
    return owner
