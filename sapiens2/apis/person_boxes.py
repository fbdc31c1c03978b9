"""The people of an image, as boxes, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np


@dataclass
class PersonBoxes:
    """The people of one image.

    Attributes:
        boxes: (people, 4) float64 x1, y1, x2, y2, pixels of the upright source image. Not checked.
        scores: (people,) float64; 1 where the source gives none.
        image_size: (H, W) that the source states for the image, if it does.
        below_threshold: how many more boxes were left out for their score.
    """

    boxes: np.ndarray
    scores: np.ndarray
    image_size: Optional[tuple[int, int]] = None
    below_threshold: int = 0


def whole_image(height: int, width: int) -> PersonBoxes:
    """One box that covers the image."""
    return PersonBoxes(np.array([[0, 0, width, height]], dtype=np.float64), np.ones(1))


def box_fault(box: np.ndarray, height: int, width: int) -> Optional[str]:
    """Why nothing can be found in ``box`` (4,) x1, y1, x2, y2; None for a usable box. It may reach over the edges."""
    if not np.isfinite(box).all():
        return 'has a coordinate that is not a finite number'
    if box[2] <= box[0] or box[3] <= box[1]:
        return 'is empty'
    if box[2] <= 0 or box[3] <= 0 or box[0] >= width or box[1] >= height:
        return f'lies outside the image of {width} x {height} pixels'
    seen = cut_boxes(box, height, width)
    return 'is too narrow' if (seen[2:] <= seen[:2]).any() else None


def cut_boxes(boxes: np.ndarray, height: int, width: int) -> np.ndarray:
    """Boxes (..., 4) float32, cut as the data set cuts those that networks are trained on.

    That is at the centres of the last pixels. Of a side of one pixel all is kept.
    """
    edge = max(width - 1, 1), max(height - 1, 1)
    return np.clip(boxes, 0, edge + edge).astype(np.float32)


def usable_people(found: Optional[PersonBoxes], source: str, size: tuple[int, int],
                  remedy: str = '') -> tuple[PersonBoxes, dict[str, Any]]:
    """The usable boxes, and what a result says of the others.

    Args:
        found: None for an image that ``source`` does not know.
        source: where boxes come from.
        size: (H, W) of the image.
        remedy: what to do where nobody is found.

    Returns:
        People, and ``skipped_boxes``, ``boxes_below_threshold`` and ``message`` of a result.
    """
    message = None
    if found is None:
        message = f'no people: {source} does not know this image'
        found = PersonBoxes(np.zeros((0, 4)), np.zeros(0))
    elif not len(found.boxes):
        message = f'no people: the detector {source!r} has found nobody' if remedy else (
            f'no people: {source} has no box for this image')
        if found.below_threshold:
            message += f' with a score that is high enough ({found.below_threshold} below)'
        message += remedy and f'. {remedy}'
    faults = [box_fault(box, *size) for box in found.boxes]
    kept = [index for index, fault in enumerate(faults) if fault is None]
    skipped = [f'box {index} (x1, y1, x2, y2) = {np.round(found.boxes[index], 2).tolist()} {fault}'
               for index, fault in enumerate(faults) if fault is not None]
    if skipped and not kept:
        message = f'no people: none of the {len(skipped)} boxes is usable'
    return PersonBoxes(found.boxes[kept], found.scores[kept]), {
        'skipped_boxes': skipped, 'boxes_below_threshold': found.below_threshold, 'message': message}
