"""People by their faces: works without anything downloaded, and misses whoever turns away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
import numpy.typing as npt

from sapiens2.detectors.base import People, PersonDetector, people_inside
from sapiens2.detectors.faces import FaceFinder
from sapiens2.registry import DETECTORS

# A body hangs below a face like this, in widths of the face's box: half the width of the shoulders with the arms, from
# the middle of the face to the top of the head and to the feet.
_HALF_WIDTH, _UP, _DOWN = 1.6, 1.0, 8.5


@DETECTORS.register_module()
class FacePeople(PersonDetector):
    """A box of typical proportions around each face, cut at the edges of the picture.

    It is the detector that works offline by default: good at saying that there is a person, and of what size, rough
    about where the feet are. ``benchmarks/README.md`` has its precision and recall.

    Args:
        threshold: least score of a face.
        tiles: rows and columns of tiles that are searched besides the whole picture.
    """

    def __init__(self, threshold: float = 0.6, tiles: int = 2) -> None:
        self.threshold, self.tiles = threshold, tiles
        self._finder: Optional[FaceFinder] = None

    def setup(self, device: str = 'cpu') -> None:
        if self._finder is None:
            self._finder = FaceFinder(self.threshold, self.tiles)

    def __call__(self, pictures: Sequence[np.ndarray]) -> list[People]:
        self.setup()
        return [self._people(picture) for picture in pictures]

    def _people(self, picture: np.ndarray) -> People:
        faces = self._finder(picture)
        return people_below([face.box for face in faces], [face.score for face in faces], picture.shape[:2])


def people_below(faces: npt.ArrayLike, scores: npt.ArrayLike, size: tuple[int, int]) -> People:
    """The people whose faces, boxes (N, 4) with scores (N,), are seen in a picture of ``size`` (H, W)."""
    faces = np.asarray(faces, dtype=float).reshape(-1, 4)
    middle, side = (faces[:, :2] + faces[:, 2:]) / 2, (faces[:, 2:] - faces[:, :2]).max(axis=1, keepdims=True)
    boxes = np.hstack((middle + side * (-_HALF_WIDTH, -_UP), middle + side * (_HALF_WIDTH, _DOWN)))
    return people_inside(boxes, scores, size)
