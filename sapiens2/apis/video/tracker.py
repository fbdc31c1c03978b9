"""Ids of people through a film.

After Zhang et al., "ByteTrack: Multi-Object Tracking by Associating Every Detection Box" (ECCV 2022): boxes with high
scores are matched with tracks first, then what is left of the tracks with the boxes of low scores, which continue a
track but begin none. What differs: a track moves on with the mean of its last speeds, not a Kalman filter, since steps
of time vary; and likeness is the distance-IoU of Zheng et al. (AAAI 2020), which also tells apart boxes that do not
touch, as those of people who move fast or who were hidden for a while.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sapiens2.apis.video.extra import import_assignment
from sapiens2.detectors.nms import box_iou

# Least distance-IoU of a track and a box of a high and of a low score.
_LIKE_HIGH, _LIKE_LOW = -0.1, 0.4
# Weight of the newest speed; time constant with which speeds fade while nobody is seen, seconds.
_NEWEST, _FADE = 0.4, 0.3
# Ratio of heights or widths above which two boxes are not one person from one frame to the next.
_LARGEST_RATIO = 2.5


@dataclass
class _Track:
    id: int
    box: list[float]  # x1, y1, x2, y2, pixels
    speed: list[float]  # of these, pixels a second
    seen: float  # seconds


class Tracker:
    """Gives each box of each frame the id of a person.

    Args:
        new_track: least score of a box that begins a track.
        max_gap: seconds for which a person may not be seen and keep the id.
    """

    def __init__(self, new_track: float = 0.5, max_gap: float = 1.0) -> None:
        self.new_track, self.max_gap = new_track, max_gap
        self._tracks: list[_Track] = []
        self._next = 1

    def __call__(self, boxes: np.ndarray, scores: np.ndarray, time: float) -> np.ndarray:
        """Ids (people,) int64 from 1, of (people, 4) boxes; 0 for one that continues no track and may begin none.

        Args:
            boxes: x1, y1, x2, y2, pixels.
            scores: (people,).
            time: seconds; later than that of the call before.
        """
        self._tracks = [track for track in self._tracks if time - track.seen <= self.max_gap]
        ids = np.zeros(len(boxes), dtype=np.int64)
        is_high = np.asarray(scores) >= self.new_track
        left = list(self._tracks)
        for wanted, least in ((is_high, _LIKE_HIGH), (~is_high, _LIKE_LOW)):
            numbers = np.flatnonzero(wanted)
            for track, number in _matches(left, boxes, numbers, time, least):
                _move(track, boxes[number], time)
                ids[number] = track.id
            left = [track for track in left if track.id not in ids]
        for number in np.flatnonzero(is_high & (ids == 0)):
            self._tracks.append(_Track(self._next, boxes[number].tolist(), [0.0] * 4, time))
            ids[number] = self._next
            self._next += 1
        return ids

    def state(self) -> dict[str, Any]:
        """What it remembers, in JSON's types."""
        return {'next': self._next, 'tracks': [asdict(track) for track in self._tracks]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self._next, self._tracks = state['next'], [_Track(**track) for track in state['tracks']]


def _expected(track: _Track, time: float) -> np.ndarray:
    """Where the box is to be at ``time``, if its speed fades while nobody is seen."""
    gap = time - track.seen
    return np.array(track.box) + np.array(track.speed) * _FADE * (1 - np.exp(-gap / _FADE))


def _matches(tracks: list[_Track], boxes: np.ndarray, numbers: np.ndarray, time: float,
             least: float) -> list[tuple[_Track, int]]:
    """Pairs of tracks and numbers of boxes that are alike enough, the most alike in sum."""
    if not tracks or not len(numbers):
        return []
    expected = np.stack([_expected(track, time) for track in tracks])
    likeness = distance_iou(expected, boxes[numbers])
    sizes, others = (np.maximum(both[:, 2:] - both[:, :2], 1e-6) for both in (expected, boxes[numbers]))
    ratio = np.exp(np.abs(np.log(sizes[:, None] / others[None])).max(axis=-1))
    likeness[ratio > _LARGEST_RATIO] = -1
    pairs = zip(*import_assignment()(-np.maximum(likeness, least - 1e-3)))
    return [(tracks[row], int(numbers[column])) for row, column in pairs if likeness[row, column] >= least]


def _move(track: _Track, box: np.ndarray, time: float) -> None:
    step = time - track.seen
    if step > 0:
        newest = (box - np.array(track.box)) / step
        speed = np.array(track.speed)
        # A first speed is taken as it is: half of it would be a guess, too.
        track.speed = (newest if not speed.any() else speed + _NEWEST * (newest - speed)).tolist()
    track.box, track.seen = box.tolist(), time


def distance_iou(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(N, M) in (-1, 1]: intersection over union of (N, 4) and (M, 4) boxes, less the squared distance of their
    centres over that of the corners of the box round both."""
    first, second = np.asarray(first, dtype=np.float64)[:, None], np.asarray(second, dtype=np.float64)[None]
    gap = (first[..., :2] + first[..., 2:] - second[..., :2] - second[..., 2:]) / 2
    around = np.maximum(first[..., 2:], second[..., 2:]) - np.minimum(first[..., :2], second[..., :2])
    overlap = box_iou(first[:, 0], second[0])
    return overlap - (gap ** 2).sum(axis=-1) / np.maximum((around ** 2).sum(axis=-1), 1e-12)
