"""How many people there are, and how large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.detectors import People, PersonDetector
from sapiens2.detectors.face_people import people_below
from sapiens2.registry import CURATION_STAGES, DETECTORS, build_from


_OUTPUTS = {
    'num_people': Column('int32', 'people found'),
    'person_boxes': Column('float32', 'x1, y1, x2, y2 of each, the surest first, pixels of the whole picture',
                           length=-1),
    'person_scores': Column('float32', 'of each', length=-1),
    'person_side': Column('float32', 'the largest of the shorter sides of the boxes, pixels of the whole picture; '
                                     '0 without people'),
}


@CURATION_STAGES.register_module()
class DetectPeople(Stage):
    """People by a detector. Sapiens2 trains on images in which the shorter side of a box is at least 384 pixels.

    Args:
        detector: of ``sapiens2.detectors``, or its configuration; default: ``FacePeople``.
        device: where it runs.
        kwargs: of ``Stage``.
    """

    inputs = ('picture', 'height')
    outputs = _OUTPUTS

    def __init__(self, detector: Union[PersonDetector, dict[str, Any], None] = None, device: str = 'cpu',
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.detector: PersonDetector = build_from(DETECTORS, detector or {'type': 'FacePeople'})
        self.device = device

    def setup(self) -> None:
        self.detector.setup(self.device)

    def run(self, records: Sequence[Record]) -> None:
        for record, people in zip(records, self.detector([record['picture'] for record in records])):
            _note(record, people, record['height'] / record['picture'].shape[0])


@CURATION_STAGES.register_module()
class PeopleByFaces(Stage):
    """The people whose faces the stage ``Faces`` has found: what ``FacePeople`` finds, without a second search.

    Args:
        kwargs: of ``Stage``.
    """

    inputs = ('face_boxes', 'face_scores', 'height', 'width')
    outputs = _OUTPUTS

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            _note(record, people_below(record['face_boxes'], record['face_scores'],
                                       (record['height'], record['width'])))


def _note(record: Record, people: People, scale: float = 1) -> None:
    """Fill the columns; boxes times ``scale`` are in pixels of the whole picture."""
    boxes = people.boxes * scale
    sides = (boxes[:, 2:] - boxes[:, :2]).min(axis=1) if len(boxes) else np.zeros(1)
    record.update(num_people=len(boxes), person_boxes=boxes.ravel().tolist(),
                  person_scores=people.scores.tolist(), person_side=float(sides.max()))
