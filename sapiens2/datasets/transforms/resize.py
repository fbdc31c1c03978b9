"""Bring picture and fields to another size."""

from __future__ import annotations

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomStep, Step
from sapiens2.datasets.transforms.fields import FIELDS, Results, move_points
from sapiens2.datasets.transforms.lazy import LazyResults
from sapiens2.datasets.transforms.view import shift_matrix
from sapiens2.registry import TRANSFORMS


def pad_all(results: LazyResults, left: int, right: int, top: int, bottom: int, img_value: float = 0.0) -> LazyResults:
    """Put borders of so many pixels round picture (of ``img_value``) and fields (of their own values)."""
    results.settle()
    for name, field in FIELDS.items():
        if name in results:
            value = img_value if name == 'img' else field.pad_value
            results[name] = cv2.copyMakeBorder(
                results[name], top, bottom, left, right, cv2.BORDER_CONSTANT, value=[value] * 4)
    move_points(results, shift_matrix(left, top))
    results['img_shape'] = results['img'].shape[:2]
    return results


def fit_size(old_size: tuple[int, int], bounds: tuple[float, float]) -> tuple[int, int]:
    """The largest size (H, W) of the shape of ``old_size`` inside ``bounds``, cut to whole pixels, at least 1."""
    scale = min(bounds[0] / old_size[0], bounds[1] / old_size[1])
    # The side that decides must come out whole although the quotient is rounded.
    return tuple(max(1, int(side * scale + 1e-6)) for side in old_size)


@TRANSFORMS.register_module()
class Resize(Step):
    """Resize to ``size``, either by stretching or by keeping the shape between centred borders.

    Stretching averages areas where both sides shrink and is cubic otherwise; keeping the shape is bilinear: both as
    the released program prepares its test images.

    Sets ``padding``: (left, right, top, bottom), pixels of the result that are border.

    Args:
        size: (H, W) of the result, pixels.
        keep_ratio: whether the shape is kept.
        pad_val: grey value of the border, 0 to 255.
        target_stride: pixels of the picture along a side of a pixel of the other fields, for a network whose output is
            so many times smaller than its input. ``K`` then belongs to the fields. No geometric step can follow.

    Raises:
        ValueError: for a stride that does not divide the size, or is to keep the shape.
    """

    needs = ('img',)

    def __init__(self, size: tuple[int, int], keep_ratio: bool = False, pad_val: float = 0.0,
                 target_stride: int = 1) -> None:
        if target_stride < 1 or any(side % target_stride for side in size) or (keep_ratio and target_stride > 1):
            raise ValueError(f'Resize: target_stride {target_stride} must divide the size {tuple(size)}, and be 1 with '
                             'keep_ratio, whose borders it could cut through')
        self.target_stride = target_stride
        self.size = tuple(size)
        self.keep_ratio = keep_ratio
        self.pad_val = pad_val

    def apply(self, results: Results) -> LazyResults:
        """Resize ``results``."""
        results = LazyResults.of(results)
        results['padding'] = (0, 0, 0, 0)
        if not self.keep_ratio:
            results.look(results.view.resized(self.size))
            return results if self.target_stride == 1 else results.settle(self.target_stride)
        inner = fit_size(results.view.size, self.size)
        results.look(results.view.resized(inner, cv2.INTER_LINEAR))
        free_y, free_x = self.size[0] - inner[0], self.size[1] - inner[1]
        left, top = free_x // 2, free_y // 2
        results['padding'] = (left, free_x - left, top, free_y - top)
        return pad_all(results, *results['padding'], img_value=self.pad_val)


@TRANSFORMS.register_module()
class RandomScale(RandomStep):
    """Resize both sides by one random factor.

    Where a step after it makes the picture larger again, the picture is blurred as if it had been that small; fields
    stay sharp.

    Args:
        ratio_range: smallest and largest factor.
        prob: how often.
    """

    def __init__(self, ratio_range: tuple[float, float] = (0.5, 2.0), prob: float = 1.0) -> None:
        super().__init__(prob)
        self.ratio_range = tuple(ratio_range)

    def apply(self, results: Results) -> LazyResults:
        """Resize ``results``."""
        results = LazyResults.of(results)
        factor = np.random.uniform(*self.ratio_range)
        return results.look(results.view.resized(tuple(max(1, round(side * factor)) for side in results.view.size)))


@TRANSFORMS.register_module()
class RandomResize(RandomStep):
    """Resize to a size that is a random multiple of ``size``; as ``RandomScale``, it may blur.

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

    def apply(self, results: Results) -> LazyResults:
        """Resize ``results``."""
        results = LazyResults.of(results)
        factor = np.random.uniform(*self.ratio_range)
        bounds = (self.size[0] * factor, self.size[1] * factor)
        new_size = (fit_size(results.view.size, bounds) if self.keep_ratio
                    else tuple(max(1, round(side)) for side in bounds))
        return results.look(results.view.resized(new_size))


@TRANSFORMS.register_module()
class DownUpSample(RandomStep):
    """Lose detail: make the picture, not the fields, smaller and bring it back to its size.

    Where geometric steps follow, it goes from the small size to theirs at once.

    Args:
        scale_range: smallest and largest factor of the smaller picture.
        prob: how often.
    """

    def __init__(self, scale_range: tuple[float, float] = (0.1, 0.7), prob: float = 1.0) -> None:
        super().__init__(prob)
        self.scale_range = tuple(scale_range)

    def apply(self, results: Results) -> LazyResults:
        """Blur the picture in ``results``."""
        results = LazyResults.of(results)
        return results.look(results.view.coarsened(np.random.uniform(*self.scale_range)))
