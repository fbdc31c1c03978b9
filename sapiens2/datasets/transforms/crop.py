"""Cut a random part out of picture and fields."""

from __future__ import annotations

import cv2
import numpy as np

from sapiens2.datasets.metainfo import IGNORE_LABEL
from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.fields import Results
from sapiens2.datasets.transforms.lazy import LazyResults
from sapiens2.registry import TRANSFORMS


def _random_place(shape: tuple[int, int], height: int, width: int) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a window that lies inside ``shape`` (H, W)."""
    top, left = np.random.randint(shape[0] - height + 1), np.random.randint(shape[1] - width + 1)
    return top, left, height, width


@TRANSFORMS.register_module()
class RandomCrop(RandomStep):
    """Cut out a window of a fixed size, or as much of it as the picture has.

    Args:
        size: (H, W) of the window, pixels.
        cat_max_ratio: largest share that one class may have of the labelled pixels in the window; the first window
            that keeps to it is taken, else the last. 1 does not look.
        attempts: windows that are tried.
        prob: how often.
    """

    def __init__(self, size: tuple[int, int], cat_max_ratio: float = 1.0, attempts: int = 10,
                 prob: float = 1.0) -> None:
        super().__init__(prob)
        self.size = tuple(size)
        self.cat_max_ratio = cat_max_ratio
        self.attempts = attempts
        self.needs = ('img', 'sem_seg') if cat_max_ratio < 1 else ('img',)

    def apply(self, results: Results) -> LazyResults:
        """Cut ``results``."""
        results = LazyResults.of(results)
        shape = results.view.size
        height, width = min(self.size[0], shape[0]), min(self.size[1], shape[1])
        window = _random_place(shape, height, width)
        if self.cat_max_ratio < 1:
            labels = results.peek('sem_seg')
            for _ in range(self.attempts - 1):
                if self._is_mixed(labels, window):
                    break
                window = _random_place(shape, height, width)
        return results.look(results.view.cropped(*window))

    def _is_mixed(self, labels: np.ndarray, window: tuple[int, int, int, int]) -> bool:
        top, left, height, width = window
        part = labels[top:top + height, left:left + width]
        counts = cv2.calcHist([part], [0], None, [256], [0, 256]).ravel()
        counts[IGNORE_LABEL] = 0
        return np.count_nonzero(counts) > 1 and counts.max() < self.cat_max_ratio * counts.sum()


@TRANSFORMS.register_module()
class RandomAreaCrop(RandomStep):
    """Cut out a window of random area, shape and place; the picture stays whole where none fits.

    Args:
        area_range: smallest and largest share of the picture's area.
        aspect_range: smallest and largest w / h; drawn evenly in its logarithm.
        attempts: windows that are tried.
        prob: how often.
    """

    def __init__(self, area_range: tuple[float, float] = (0.4, 1.0), aspect_range: tuple[float, float] = (0.5, 2.0),
                 attempts: int = 8, prob: float = 1.0) -> None:
        super().__init__(prob)
        self.area_range = tuple(area_range)
        self.aspect_range = tuple(aspect_range)
        self.attempts = attempts

    def apply(self, results: Results) -> LazyResults:
        """Cut ``results``."""
        results = LazyResults.of(results)
        shape = results.view.size
        for _ in range(self.attempts):
            area = np.random.uniform(*self.area_range) * shape[0] * shape[1]
            aspect = np.exp(np.random.uniform(*np.log(self.aspect_range)))
            height, width = round(np.sqrt(area / aspect)), round(np.sqrt(area * aspect))
            if 0 < height <= shape[0] and 0 < width <= shape[1]:
                return results.look(results.view.cropped(*_random_place(shape, height, width)))
        return results
