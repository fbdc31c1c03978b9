"""People of the frames of a film: found, told apart, followed, and their boxes made calm; before pose estimation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.person_boxes import PersonBoxes, box_fault
from sapiens2.apis.video.one_euro import TrackSmoother
from sapiens2.apis.video.options import VideoOptions
from sapiens2.apis.video.frames import Frame
from sapiens2.apis.video.tracker import Tracker
from sapiens2.detectors.nms import nms


class FramePeople:
    """Finds the people of frame after frame, in order, and hands them out by the number of the input.

    Boxes of a file are looked up as those of an image ``STEM/000123.jpg``, 123 the number of the frame; in a list of
    detections the frame's number is the ``image_id``.

    Args:
        finder: who finds people in one picture.
        stem: of the film.
    """

    def __init__(self, finder: BoxFinder, stem: str, options: VideoOptions) -> None:
        self._finder, self._stem, self._options = finder, stem, options
        self._tracker = Tracker(options.new_track, options.max_gap)
        self._smoother = TrackSmoother(options.cutoff, options.speed_cutoff, options.max_gap)
        self._found: dict[int, Any] = {}
        self.known_frames = 0

    def find(self, index: int, frame: Frame) -> np.ndarray:
        """Ids (people,) int64 of the people of a frame, which is the input number ``index`` of a network.

        Boxes in which nothing can be found come last in what the network is given, and have no id.
        """
        path = Path(self._stem, f'{frame.number:06d}.jpg')
        try:
            found = self._finder.find(frame.number, path, frame.pixels)
        except ValueError as error:
            self._found[index] = error
            return np.zeros(0, dtype=np.int64)
        ids = np.zeros(0, dtype=np.int64)
        if found is not None:
            self.known_frames += 1
            found, ids = self._followed(found, frame)
        self._found[index] = found
        return ids

    def _followed(self, found: PersonBoxes, frame: Frame) -> tuple[PersonBoxes, np.ndarray]:
        height, width = frame.pixels.shape[:2]
        is_usable = np.array([box_fault(box, height, width) is None for box in found.boxes], dtype=bool)
        faulty = np.flatnonzero(~is_usable)
        usable = np.flatnonzero(is_usable)
        usable = usable[nms(found.boxes[usable], found.scores[usable], self._options.box_overlap)]
        time = float(frame.time)
        ids = self._tracker(found.boxes[usable], found.scores[usable], time)
        usable, ids, dropped = usable[ids > 0], ids[ids > 0], int((ids == 0).sum())
        boxes = found.boxes[usable].astype(np.float64)
        if self._options.smooth:
            self._smoother.forget(time)
            for number, track in enumerate(ids.tolist()):
                boxes[number] = self._calm(track, boxes[number], time)
        return PersonBoxes(
            np.concatenate((boxes, found.boxes[faulty])), found.scores[np.concatenate((usable, faulty))],
            found.image_size, found.below_threshold + dropped), ids

    def _calm(self, track: int, box: np.ndarray, time: float) -> np.ndarray:
        corners = box.reshape(2, 2)
        return self._smoother(track, corners, time, person_size(box)).reshape(4)

    def as_finder(self) -> BoxFinder:
        """What an inferencer asks for people; each input once."""
        return BoxFinder(self._take, self._finder.source, self._finder.settings, self._finder.remedy)

    def _take(self, index: int, path: Optional[Path], pixels: np.ndarray) -> Optional[PersonBoxes]:
        found = self._found.pop(index)
        if isinstance(found, ValueError):
            raise found
        return found

    def state(self) -> dict[str, Any]:
        """What it remembers, in JSON's types."""
        return {'tracker': self._tracker.state(), 'boxes': self._smoother.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self._tracker.restore(state['tracker'])
        self._smoother.restore(state['boxes'])


def person_size(box: np.ndarray) -> float:
    """The square root of a box's area, pixels."""
    return float(np.sqrt(np.prod(np.clip(box[2:] - box[:2], 1, None))))
