"""Rules for boxes and key points of people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional, Union

import numpy as np

from sapiens2.datasets.errors import Fault, Kind, Place
from sapiens2.datasets.json_files import numbers

# Pixels by which annotators' rounding may put things over the edge.
_ROUNDING = 2.0
# Pixels of the longer side of the part of a box inside the picture. A smaller one cannot be cut out of it.
_SMALLEST = 0.1
_BOX_REMEDY = 'give [x, y, w, h] in pixels of the upright picture, or remove the annotation'
# Points that one message names.
_NAMED = 5


def box_faults(box: Any, size: tuple[int, int], place: Union[Place, str]) -> Iterator[Fault]:
    """What is wrong with ``box``, which should be x, y, w, h, pixels of a picture of ``size`` (W, H)."""
    def fault(kind: Kind, message: str) -> Fault:
        return Fault(kind, place, f'bbox {box!r:.80} {message}', 'bbox', _BOX_REMEDY)

    try:
        x, y, width, height = numbers(box, np.float64).tolist()
    except (TypeError, ValueError):
        yield fault(Kind.WRONG_COUNT, 'is no list of four numbers')
        return
    if not np.isfinite([x, y, width, height]).all():
        yield fault(Kind.NOT_FINITE, 'holds NaN or infinity')
    elif width <= 0 or height <= 0:
        yield fault(Kind.BOX_EMPTY, 'is empty')
    elif min(x + width, size[0] - 1 - x, y + height, size[1] - 1 - y) <= 0 < min(size) - 1:
        yield fault(Kind.BOX_OUTSIDE, f'lies outside the picture of {size[0]} x {size[1]} pixels')
    elif max(min(x + width, size[0] - 1) - max(x, 0), min(y + height, size[1] - 1) - max(y, 0)) < _SMALLEST:
        yield fault(Kind.BOX_EMPTY, f'shows less than {_SMALLEST} pixels of the picture of {size[0]} x {size[1]}')
    elif np.float32(x + width) <= np.float32(x) or np.float32(y + height) <= np.float32(y):
        yield fault(Kind.BOX_EMPTY, 'is empty in the 32 bits of which boxes are made')
    elif max(-x, -y, x + width - size[0], y + height - size[1]) > _ROUNDING:
        yield fault(Kind.BOX_BEYOND, f'reaches out of the picture of {size[0]} x {size[1]} pixels and is cut there')


def point_faults(points: np.ndarray, fractions: np.ndarray, size: Optional[tuple[int, int]],
                 place: Union[Place, str]) -> Iterator[Fault]:
    """What is wrong with key points.

    Args:
        points: (N, 3) x, y, pixels, and v: 0 not labelled, 1 labelled but hidden, 2 visible.
        fractions: (N,) whether v may be a confidence between 0 and 1, too.
        size: (W, H) of the picture, None if it is not known.
    """
    v = points[:, 2]
    wrong = v * (v - 1) * (v - 2) != 0
    if wrong.any():
        wrong &= ~(fractions & (v > 0) & (v < 1))
    if wrong.any():
        yield Fault(Kind.POINT_VISIBILITY, place, f'keypoints {_numbers(wrong)} have v = {_some(v[wrong])}',
                    'keypoints', 'v is 0 where a point is not labelled, 1 where it is labelled but hidden, 2 where it '
                    'is visible')
    labelled = v > 0
    xy = points[labelled, :2]
    last = np.finfo(np.float32).max if size is None else np.array(size, dtype=np.float32) + (_ROUNDING - 1)
    if ((xy >= -_ROUNDING) & (xy <= last)).all():
        return  # as nearly always, and there may be hundreds of thousands of people
    finite = np.isfinite(points).all(axis=1)
    if not finite[labelled].all():
        yield Fault(Kind.NOT_FINITE, place, f'keypoints {_numbers(labelled & ~finite)} hold NaN or infinity although '
                    'they are labelled', 'keypoints', 'set their v to 0, or fix them')
    if size is None:
        return
    beyond = np.maximum(-points[:, :2], points[:, :2] - (np.array(size) - 1)).max(axis=1)
    outside = labelled & finite & (beyond > _ROUNDING)
    if outside.any():
        for kind, chosen, words in (
                (Kind.POINT_OUTSIDE, outside & (v == 2), 'are said to be visible (v = 2) but lie'),
                (Kind.POINT_BEYOND, outside & (v != 2), 'lie')):
            if chosen.any():
                yield Fault(kind, place, f'keypoints {_numbers(chosen)} {words} up to {beyond[chosen].max():.0f} '
                            f'pixels outside the picture of {size[0]} x {size[1]}', 'keypoints',
                            'set their v to 0, or fix them: x, y are pixels of the upright picture')


def _numbers(chosen: np.ndarray) -> str:
    """The places of what is chosen, from 0, in words."""
    return _some(np.flatnonzero(chosen))


def _some(values: np.ndarray) -> str:
    text = ', '.join(f'{value:g}' for value in values[:_NAMED])
    return text + (f', ... ({len(values)} of them)' if len(values) > _NAMED else '')
