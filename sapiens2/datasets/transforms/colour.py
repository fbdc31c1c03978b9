"""Changes of light and colour for pretraining, each in one pass over the pixels."""

from __future__ import annotations

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.fields import Results
from sapiens2.datasets.transforms.photometric import levels_table
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.srgb import encoded, linear

_LEVELS = np.arange(256, dtype=np.float32)


def _linear(levels: np.ndarray) -> np.ndarray:
    """Light, in [0, 1], of sRGB levels in [0, 255]."""
    return linear(levels / 255)


def _encoded(light: np.ndarray) -> np.ndarray:
    """The inverse of ``_linear``."""
    return 255 * encoded(np.clip(light, 0, 1))


_LIGHT = _linear(_LEVELS)
_LUMA = np.array([0.114, 0.587, 0.299])  # of B, G, R
# From B, G, R to Y, I, Q of NTSC: grey, and a plane in which colours turn round it.
_YIQ = np.array([_LUMA, [-0.322, -0.274, 0.596], [0.312, -0.523, 0.211]])


@TRANSFORMS.register_module()
class RandomExposure(RandomStep):
    """More or less light, as by another exposure time: colours stay, but for what becomes white.

    Args:
        stops: largest change either way, powers of two.
        prob: how often.
    """

    def __init__(self, stops: float = 0.3, prob: float = 1.0) -> None:
        super().__init__(prob)
        self.stops = stops

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        gain = 2.0 ** np.random.uniform(-self.stops, self.stops)
        results['img'] = cv2.LUT(results['img'], levels_table(_encoded(_LIGHT * gain)))
        return results


@TRANSFORMS.register_module()
class ColourJitter(RandomStep):
    """Random brightness, contrast, saturation and hue, as in DINO (arXiv 2104.14294).

    They come in this order, as one affine map of colours: saturation and hue stretch and turn the plane of equal grey,
    and values are cut to 0..255 at the end only.

    Args:
        brightness: largest part by which values are multiplied more or less.
        contrast: the same of the distances from the mean grey.
        saturation: the same of the saturation.
        hue: largest turn, in turns.
        prob: how often.
    """

    def __init__(self, brightness: float = 0.4, contrast: float = 0.4, saturation: float = 0.2, hue: float = 0.1,
                 prob: float = 0.8) -> None:
        super().__init__(prob)
        self.brightness, self.contrast, self.saturation, self.hue = brightness, contrast, saturation, hue

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        image = results['img']
        brightness, contrast, saturation = (
            1 + np.random.uniform(-part, part) for part in (self.brightness, self.contrast, self.saturation))
        angle = 2 * np.pi * np.random.uniform(-self.hue, self.hue)
        cos, sin = saturation * np.cos(angle), saturation * np.sin(angle)
        colours = np.linalg.solve(_YIQ, np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]]) @ _YIQ)
        matrix = np.empty((3, 4))
        matrix[:, :3] = brightness * contrast * colours
        matrix[:, 3] = brightness * (1 - contrast) * np.dot(_LUMA, cv2.mean(image)[:3])
        results['img'] = cv2.transform(image, matrix)
        return results


@TRANSFORMS.register_module()
class RandomGrey(RandomStep):
    """Take the colour away.

    Args:
        prob: how often.
    """

    def __init__(self, prob: float = 0.2) -> None:
        super().__init__(prob)

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        results['img'] = cv2.cvtColor(cv2.cvtColor(results['img'], cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
        return results
