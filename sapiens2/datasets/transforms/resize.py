"""Bring picture and fields to another size."""

from __future__ import annotations

from typing import Optional

import cv2
import numpy as np
from mmcv.transforms import BaseTransform

from sapiens2.datasets.transforms.base import RandomTransform
from sapiens2.datasets.transforms.fields import FIELDS, Field, Results, move
from sapiens2.registry import TRANSFORMS


def resize_matrix(old_size: tuple[int, int], new_size: tuple[int, int]) -> np.ndarray:
    """(3, 3) from old to new pixels between sizes (H, W): pixel areas are scaled, centres are at integers."""
    scale_y, scale_x = new_size[0] / old_size[0], new_size[1] / old_size[1]
    return np.array([[scale_x, 0, scale_x / 2 - 0.5], [0, scale_y, scale_y / 2 - 0.5], [0, 0, 1]])


def resize_all(results: Results, new_size: tuple[int, int], img_interpolation: Optional[int] = None) -> Results:
    """Resize picture and fields to ``new_size`` (H, W).

    Args:
        img_interpolation: OpenCV's flag for the picture; None takes area averaging where both sides shrink, and
            cubic otherwise.
    """
    height, width = new_size
    old_size = results['img'].shape[:2]
    if img_interpolation is None:
        shrinks = height < old_size[0] and width < old_size[1]
        img_interpolation = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC

    def resample(raster: np.ndarray, field: Field) -> np.ndarray:
        flag = img_interpolation if field is FIELDS['img'] else field.interpolation
        return cv2.resize(raster, (width, height), interpolation=flag)

    return move(results, resample, resize_matrix(old_size, new_size))


def pad_all(results: Results, left: int, right: int, top: int, bottom: int, img_value: float = 0.0) -> Results:
    """Put borders of so many pixels round picture (of ``img_value``) and fields (of their own values)."""

    def resample(raster: np.ndarray, field: Field) -> np.ndarray:
        value = img_value if field is FIELDS['img'] else field.pad_value
        return cv2.copyMakeBorder(raster, top, bottom, left, right, cv2.BORDER_CONSTANT, value=[value] * 4)

    return move(results, resample, np.array([[1.0, 0, left], [0, 1, top], [0, 0, 1]]))


def fit_size(old_size: tuple[int, int], bounds: tuple[float, float]) -> tuple[int, int]:
    """The largest size (H, W) of the shape of ``old_size`` inside ``bounds``, cut to whole pixels, at least 1."""
    scale = min(bounds[0] / old_size[0], bounds[1] / old_size[1])
    # The side that decides must come out whole although the quotient is rounded.
    return tuple(max(1, int(side * scale + 1e-6)) for side in old_size)


@TRANSFORMS.register_module()
class Resize(BaseTransform):
    """Resize to ``size``, either by stretching or by keeping the shape between centred borders.

    Stretching averages areas where both sides shrink and is cubic otherwise; keeping the shape is bilinear: both as
    the released program prepares its test images.

    Sets ``padding``: (left, right, top, bottom), pixels of the result that are border.

    Args:
        size: (H, W) of the result, pixels.
        keep_ratio: whether the shape is kept.
        pad_val: grey value of the border, 0 to 255.
    """

    def __init__(self, size: tuple[int, int], keep_ratio: bool = False, pad_val: float = 0.0) -> None:
        self.size = tuple(size)
        self.keep_ratio = keep_ratio
        self.pad_val = pad_val

    def transform(self, results: Results) -> Results:
        """Resize ``results`` in place."""
        results['padding'] = (0, 0, 0, 0)
        if not self.keep_ratio:
            return resize_all(results, self.size)
        inner = fit_size(results['img'].shape[:2], self.size)
        resize_all(results, inner, cv2.INTER_LINEAR)
        free_y, free_x = self.size[0] - inner[0], self.size[1] - inner[1]
        left, top = free_x // 2, free_y // 2
        results['padding'] = (left, free_x - left, top, free_y - top)
        return pad_all(results, *results['padding'], img_value=self.pad_val)


@TRANSFORMS.register_module()
class RandomScale(RandomTransform):
    """Resize both sides by one random factor.

    Args:
        ratio_range: smallest and largest factor.
        prob: how often.
    """

    def __init__(self, ratio_range: tuple[float, float] = (0.5, 2.0), prob: float = 1.0) -> None:
        super().__init__(prob)
        self.ratio_range = tuple(ratio_range)

    def apply(self, results: Results) -> Results:
        """Resize ``results`` in place."""
        factor = np.random.uniform(*self.ratio_range)
        return resize_all(results, tuple(max(1, round(side * factor)) for side in results['img'].shape[:2]))


@TRANSFORMS.register_module()
class RandomResize(RandomTransform):
    """Resize to a size that is a random multiple of ``size``.

    Args:
        size: (H, W), pixels.
        ratio_range: smallest and largest multiple.
        keep_ratio: fit inside the multiple of ``size`` instead of stretching to it.
        prob: how often.
    """

    def __init__(self, size: tuple[int, int], ratio_range: tuple[float, float], keep_ratio: bool = True,
                 prob: float = 1.0) -> None:
        super().__init__(prob)
        self.size = tuple(size)
        self.ratio_range = tuple(ratio_range)
        self.keep_ratio = keep_ratio

    def apply(self, results: Results) -> Results:
        """Resize ``results`` in place."""
        factor = np.random.uniform(*self.ratio_range)
        bounds = (self.size[0] * factor, self.size[1] * factor)
        new_size = (fit_size(results['img'].shape[:2], bounds) if self.keep_ratio
                    else tuple(max(1, round(side)) for side in bounds))
        return resize_all(results, new_size)
