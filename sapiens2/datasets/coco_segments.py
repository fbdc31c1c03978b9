"""The polygons and run lengths of COCO annotations, drawn as label maps.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Which pixels a polygon covers is pycocotools' rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pycocotools import mask as coco_mask

from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.json_files import numbers
from sapiens2.datasets.metainfo import IGNORE_LABEL

_FEWEST_NUMBERS = 6  # of a polygon: three corners
_REMEDY = ('give polygons [[x, y, x, y, x, y, ...], ...] in pixels of the upright picture, or run lengths of its size, '
           '{"size": [H, W], "counts": ...}')
OVERLAPS = ('area', 'order')


class Segment(NamedTuple):
    """One annotation: its id, the label that its pixels get, whether it is a crowd, and what the file says of them."""

    ann_id: Any
    label: int
    crowd: bool
    segmentation: Any


@dataclass(frozen=True)
class CocoSegments:
    """The annotations of one picture, drawn when they are needed.

    Crowds are drawn first, as ignored pixels, so that people in them who have annotations of their own count.

    Attributes:
        name: of the file, for errors.
        size: (H, W) of the picture.
        segments: in the order of the file.
        background: label of the pixels that no annotation covers.
        overlaps: who wins a pixel that several cover. 'area': the smallest of them, since what lies on another thing
            shows less of itself; of two that are equal, and for 'order' always, the later in the file.
    """

    name: str
    size: tuple[int, int]
    segments: Sequence[Segment]
    background: int = 0
    overlaps: str = 'area'

    def __str__(self) -> str:
        return self.name

    def draw(self) -> np.ndarray:
        """The (H, W) uint8 labels.

        Raises:
            DataError: naming file, annotation and fault.
        """
        runs = [self._run_lengths(segment) for segment in self.segments]
        areas = coco_mask.area(runs) if runs and self.overlaps == 'area' else np.zeros(len(runs))
        # The layout of pycocotools' masks, in which copying is fastest.
        labels = np.full(self.size, self.background, np.uint8, order='F')
        for number in sorted(range(len(runs)), key=lambda i: (not self.segments[i].crowd, -int(areas[i]))):
            segment = self.segments[number]
            np.copyto(labels, np.uint8(IGNORE_LABEL if segment.crowd else segment.label),
                      where=coco_mask.decode(runs[number]).view(bool))
        return np.ascontiguousarray(labels)

    def _run_lengths(self, segment: Segment) -> dict[str, Any]:
        """One annotation as pycocotools' compressed run lengths.

        Its values are checked here: pycocotools takes memory without limit for corners far outside, and leaves pixels
        that run lengths do not reach at whatever was in memory.
        """
        place, value = Place(self.name, f'annotation {segment.ann_id}'), segment.segmentation
        if isinstance(value, dict):
            return self._checked_runs(value, place)
        if not isinstance(value, list) or not value:
            raise _fault(Kind.WRONG_TYPE, place, f'is {value!r:.40}')
        for polygon in value:
            self._check_polygon(polygon, place)
        return coco_mask.merge(coco_mask.frPyObjects([list(map(float, polygon)) for polygon in value], *self.size))

    def _check_polygon(self, polygon: Any, place: Place) -> None:
        try:
            corners = numbers(polygon, np.float64)
        except ValueError as error:
            raise _fault(Kind.WRONG_TYPE, place, f'holds {polygon!r:.60}, which is no list of numbers') from error
        if corners.ndim != 1 or len(corners) < _FEWEST_NUMBERS or len(corners) % 2:
            raise _fault(Kind.WRONG_COUNT, place, f'holds a polygon of {corners.size} numbers; it takes x and y of '
                         'three corners or more')
        corners, sides = corners.reshape(-1, 2), np.array(self.size[::-1])
        near = ((corners >= -sides) & (corners <= 2 * sides)).all(axis=1)  # false for NaN
        if not near.all():
            raise _fault(Kind.NOT_FINITE if np.isnan(corners).any() else Kind.OTHER, place,
                         f'has a corner at {corners[~near][0].tolist()}, far outside the picture of {sides[0]} x '
                         f'{sides[1]} pixels')

    def _checked_runs(self, value: dict[str, Any], place: Place) -> dict[str, Any]:
        size, counts = value.get('size'), value.get('counts')
        if size != list(self.size):
            raise _fault(Kind.SIZE, place, f'has the size (H, W) {size}, the picture has {list(self.size)}')
        try:
            runs = _runs_of_text(counts) if isinstance(counts, str) else numbers(counts, np.int64)
        except (ValueError, OverflowError) as error:
            raise _fault(Kind.WRONG_TYPE, place, f'has the counts {counts!r:.40}') from error
        if runs.ndim == 1 and ((runs < 0) | (runs > self.size[0] * self.size[1])).any():
            raise _fault(Kind.WRONG_COUNT, place, f'has counts from {runs.min()} to {runs.max()}; the picture has '
                         f'{self.size[0] * self.size[1]} pixels')
        if runs.ndim != 1 or runs.sum() != self.size[0] * self.size[1]:
            raise _fault(Kind.WRONG_COUNT, place, f'has counts of {runs.sum()} pixels in all, the picture has '
                         f'{self.size[0] * self.size[1]}; they go down the columns, to the end of the picture')
        if isinstance(counts, str):
            return {'size': size, 'counts': counts.encode('ascii')}
        return coco_mask.frPyObjects({'size': size, 'counts': runs.tolist()}, *self.size)


def _fault(kind: Kind, place: Place, message: str) -> DataError:
    return DataError(Fault(kind, place, f'segmentation {message}', 'segmentation', _REMEDY))


def _runs_of_text(text: str) -> np.ndarray:
    """Run lengths that pycocotools wrote as text.

    Each is a number in characters of 5 bits, lowest first, with a bit that says whether more follow; the fourth and
    later are differences from the last but one.

    Raises:
        ValueError: if ``text`` is none.
    """
    codes = np.frombuffer(text.encode('ascii'), np.uint8).astype(np.int64) - 48
    if not codes.size or codes.min() < 0 or codes.max() > 63 or codes[-1] & 32:
        raise ValueError('no run lengths')
    last = np.flatnonzero((codes & 32) == 0)
    first = np.concatenate([[0], last[:-1] + 1])
    lengths = last - first + 1
    if lengths.max() > 8:
        raise ValueError('a run is longer than any picture')
    shifts = 5 * (np.arange(len(codes)) - np.repeat(first, lengths))
    values = np.add.reduceat((codes & 31) << shifts, first)
    values -= np.where(codes[last] & 16, np.int64(1) << (5 * lengths), 0)
    for parity in (1, 2):
        values[parity::2] = np.cumsum(values[parity::2])
    return values
