"""The interface of detectors of people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class People(NamedTuple):
    """People in one picture, the surest first."""

    boxes: np.ndarray  # (N, 4) float32 x1, y1, x2, y2, pixels, inside the picture
    scores: np.ndarray  # (N,) float32, 0 to 1


class PersonDetector(ABC):
    """Finds people. What is heavy is loaded at the first call of ``setup``."""

    def setup(self, device: str = 'cpu') -> None:
        """Load what is needed.

        Raises:
            ImportError: naming the package that is missing, and how to install it.
        """

    @abstractmethod
    def __call__(self, pictures: Sequence[np.ndarray]) -> list[People]:
        """People in each of (H, W, 3) uint8 BGR pictures."""


def people_inside(boxes: np.ndarray, scores: np.ndarray, size: tuple[int, int]) -> People:
    """Boxes cut at the edges of a picture of ``size`` (H, W), those without area left out, the surest first."""
    height, width = size
    boxes = np.clip(np.asarray(boxes, dtype=np.float32).reshape(-1, 4), 0, np.float32([width, height, width, height]))
    scores = np.asarray(scores, dtype=np.float32).reshape(-1)
    seen = (boxes[:, 2:] - boxes[:, :2] >= 1).all(axis=1)
    order = np.flatnonzero(seen)[np.argsort(-scores[seen], kind='stable')]
    return People(boxes[order], scores[order])
