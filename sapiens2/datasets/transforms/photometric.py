"""Change colours and sharpness of the picture; fields stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Union

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS

_LEVELS = np.arange(256, dtype=np.float32)


def _coin() -> bool:
    return np.random.random() < 0.5


def levels_table(values: np.ndarray) -> np.ndarray:
    """A look-up table of grey levels, cut to 0..255."""
    return np.clip(values + 0.5, 0, 255).astype(np.uint8)


@TRANSFORMS.register_module()
class PhotometricDistortion(RandomStep):
    """Random brightness, contrast (before or after the colours), saturation and hue, each every other time.

    Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, with tables of levels in place of float pictures.

    Args:
        brightness_delta: largest shift, grey levels.
        contrast_range: smallest and largest factor.
        saturation_range: smallest and largest factor.
        hue_delta: largest turn, in steps of 2 degrees.
        prob: how often anything is done at all.
    """

    def __init__(self, brightness_delta: float = 32, contrast_range: tuple[float, float] = (0.5, 1.5),
                 saturation_range: tuple[float, float] = (0.5, 1.5), hue_delta: int = 18, prob: float = 1.0) -> None:
        super().__init__(prob)
        self.brightness_delta = brightness_delta
        self.contrast_range = tuple(contrast_range)
        self.saturation_range = tuple(saturation_range)
        self.hue_delta = hue_delta

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        shift = np.random.uniform(-self.brightness_delta, self.brightness_delta) if _coin() else 0.0
        contrast = np.random.uniform(*self.contrast_range) if _coin() else 1.0
        early = _coin()
        saturation = np.random.uniform(*self.saturation_range) if _coin() else 1.0
        turn = np.random.randint(-self.hue_delta, self.hue_delta + 1) if _coin() else 0
        levels = np.clip(_LEVELS + shift, 0, 255)
        if early or (saturation == 1 and turn == 0):
            levels, contrast = levels * contrast, 1.0
        image = _look_up(results['img'], levels)
        image = _distort_colours(image, saturation, turn)
        results['img'] = _look_up(image, _LEVELS * contrast)
        return results


def _look_up(image: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """``image`` with grey level i replaced by ``levels[i]``."""
    return image if np.array_equal(levels, _LEVELS) else cv2.LUT(image, levels_table(levels))


def _distort_colours(image: np.ndarray, saturation: float, turn: int) -> np.ndarray:
    if saturation == 1 and turn == 0:
        return image
    table = np.stack([(_LEVELS + turn) % 180, _LEVELS * saturation, _LEVELS], axis=-1)
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
    return cv2.cvtColor(cv2.LUT(hsv, levels_table(table)[None]), cv2.COLOR_HSV2BGR)


@TRANSFORMS.register_module()
class GaussianBlur(RandomStep):
    """Blur with a Gaussian of random width.

    Args:
        kernel_size: odd, pixels; one number or (w, h).
        sigma_range: smallest and largest standard deviation, pixels.
        prob: how often.
    """

    def __init__(self, kernel_size: Union[int, Sequence[int]] = 3, sigma_range: tuple[float, float] = (0.1, 2.0),
                 prob: float = 1.0) -> None:
        super().__init__(prob)
        self.kernel_size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.sigma_range = tuple(sigma_range)

    def apply(self, results: Results) -> Results:
        """Blur ``results['img']``."""
        results['img'] = cv2.GaussianBlur(results['img'], self.kernel_size, np.random.uniform(*self.sigma_range))
        return results


class _RandomKernel(RandomStep):
    """Filter with a square kernel of random odd size.

    Args:
        kernel_range: smallest and largest size, odd, pixels.
        prob: how often.
    """

    def __init__(self, kernel_range: tuple[int, int] = (3, 7), prob: float = 1.0) -> None:
        super().__init__(prob)
        self.kernel_range = tuple(kernel_range)

    def _kernel(self) -> int:
        smallest, largest = self.kernel_range
        return int(np.random.choice(np.arange(smallest, largest + 1, 2)))


@TRANSFORMS.register_module()
class BoxBlur(_RandomKernel):
    """Replace each pixel by the mean of its neighbourhood."""

    def apply(self, results: Results) -> Results:
        """Blur ``results['img']``."""
        kernel = self._kernel()
        results['img'] = cv2.blur(results['img'], (kernel, kernel))
        return results


@TRANSFORMS.register_module()
class MedianBlur(_RandomKernel):
    """Replace each pixel by the median of its neighbourhood."""

    def apply(self, results: Results) -> Results:
        """Blur ``results['img']``."""
        results['img'] = cv2.medianBlur(results['img'], self._kernel())
        return results


@TRANSFORMS.register_module()
class GaussianNoise(RandomStep):
    """Add independent noise to every value.

    The noise takes 256 equally likely values of the normal distribution, up to 2.9 standard deviations, before it is
    rounded to grey levels: one random byte a value, which is four times as fast as drawing from the distribution.

    Args:
        var_range: smallest and largest variance, squared grey levels.
        prob: how often.
    """

    quantiles = np.array([NormalDist().inv_cdf((level + 0.5) / 256) for level in range(256)])
    quantiles /= quantiles.std()

    def __init__(self, var_range: tuple[float, float] = (5.0, 20.0), prob: float = 1.0) -> None:
        super().__init__(prob)
        self.var_range = tuple(var_range)

    def apply(self, results: Results) -> Results:
        """Add noise to ``results['img']``."""
        image = results['img']
        deviation = np.sqrt(np.random.uniform(*self.var_range))
        # NumPy's legacy generator, which a draw seeds, is slow; it seeds a faster one.
        words = np.random.SFC64(np.random.randint(2**31)).random_raw(-(-image.size // 8))
        picks = words.view(np.uint8)[:image.size].reshape(image.shape)
        noise = cv2.LUT(picks, np.round(self.quantiles * deviation).astype(np.int16))
        results['img'] = cv2.add(image, noise, dtype=cv2.CV_8U)
        return results


@TRANSFORMS.register_module()
class Solarize(RandomStep):
    """Invert the values from ``threshold`` on.

    Args:
        threshold: grey level.
        prob: how often.
    """

    def __init__(self, threshold: int = 128, prob: float = 1.0) -> None:
        super().__init__(prob)
        self.table = levels_table(np.where(_LEVELS >= threshold, 255 - _LEVELS, _LEVELS))

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        results['img'] = cv2.LUT(results['img'], self.table)
        return results


@TRANSFORMS.register_module()
class CoarseDropout(RandomStep):
    """Paint random rectangles over the picture.

    DeVries and Taylor, "Improved Regularization of Convolutional Neural Networks with Cutout", 2017.

    Args:
        holes: smallest and largest number of rectangles.
        height_range: smallest and largest height, share of the picture's.
        width_range: smallest and largest width, share of the picture's.
        fill: grey level.
        prob: how often.
    """

    def __init__(self, holes: tuple[int, int] = (1, 1), height_range: tuple[float, float] = (0.2, 0.4),
                 width_range: tuple[float, float] = (0.2, 0.4), fill: int = 0, prob: float = 1.0) -> None:
        super().__init__(prob)
        self.holes = tuple(holes)
        self.height_range = tuple(height_range)
        self.width_range = tuple(width_range)
        self.fill = fill

    def apply(self, results: Results) -> Results:
        """Paint on a copy of ``results['img']``."""
        image = results['img'].copy()
        for _ in range(np.random.randint(self.holes[0], self.holes[1] + 1)):
            height = round(image.shape[0] * np.random.uniform(*self.height_range))
            width = round(image.shape[1] * np.random.uniform(*self.width_range))
            top = np.random.randint(image.shape[0] - height + 1)
            left = np.random.randint(image.shape[1] - width + 1)
            image[top:top + height, left:left + width] = self.fill
        results['img'] = image
        return results
