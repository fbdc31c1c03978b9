"""Several crops of one picture, which is decoded once and no finer than they need.

Multi-crop: Caron et al., arXiv 2006.09882. Here a crop's area is a share of the largest window of its shape that the
picture holds, so that every draw fits, tall pictures and wide ones alike; and shapes are near that of the network's
input, so that people keep their build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.encoded_image import EncodedImage, reduction_for
from sapiens2.utils.image_io import file_content
from sapiens2.utils.suggest import check_names

# Up to this many source pixels for one, bilinear interpolation is as near to an ideal filter as averaging areas is
# (41 against 42 dB on photographs), in a fifth of the time.
_LINEAR_UP_TO = 1.35


@dataclass(frozen=True)
class Crops:
    """One kind of crops.

    Attributes:
        size: (H, W) of a crop, pixels.
        number: of crops.
        area: smallest and largest share of the area of the largest window of the crop's shape in the picture.
        stretch: smallest and largest w / h of the window over that of ``size``; drawn evenly in its logarithm.
    """

    size: tuple[int, int]
    number: int
    area: tuple[float, float]
    stretch: tuple[float, float] = (0.85, 1.18)

    @classmethod
    def of(cls, values: Mapping[str, Any], what: str) -> Crops:
        """``values``, checked.

        Raises:
            ValueError: naming ``what`` and the value that cannot work.
        """
        check_names(values, [field.name for field in fields(cls)], what, 'argument')
        if 'size' not in values:
            raise ValueError(f'{what}.size is missing: (H, W) in pixels')
        crops = cls(**{name: tuple(value) if isinstance(value, (list, tuple)) else value
                       for name, value in values.items()})
        if not _are_numbers(crops.size, int) or min(crops.size) < 1:
            raise ValueError(f'{what}.size must be (H, W) in pixels, got {crops.size!r}')
        if isinstance(crops.number, bool) or not isinstance(crops.number, int) or crops.number < 0:
            raise ValueError(f'{what}.number must be a whole number of at least 0, got {crops.number!r}')
        for name, most in (('area', 1.0), ('stretch', float('inf'))):
            limits = getattr(crops, name)
            if not _are_numbers(limits, (int, float)) or not 0 < limits[0] <= limits[1] <= most:
                raise ValueError(f'{what}.{name} must be two numbers above 0, the smaller first'
                                 + f', at most {most:g}' * (most == 1) + f'; got {limits!r}')
        return crops

    def draw(self, picture: tuple[int, int]) -> tuple[float, float, float, float]:
        """(top, left, height, width) of a window in a picture of size (H, W), pixels; all within it."""
        aspect = self.size[1] / self.size[0] * np.exp(np.random.uniform(*np.log(self.stretch)))
        side = np.sqrt(np.random.uniform(*self.area))
        height = side * min(picture[0], picture[1] / aspect)
        width = side * min(picture[1], picture[0] * aspect)
        top, left = np.random.random(2) * (picture[0] - height, picture[1] - width)
        return top, left, height, width


@TRANSFORMS.register_module()
class MultiCrop(Step):
    """Cut global and local crops out of one picture, each mirrored every other time.

    Reads ``img_bytes``, the content of a file, or ``img_path``, or takes ``img`` (H, W, 3) uint8 BGR. Sets

        global_crops, local_crops: lists of (H, W, 3) uint8 BGR, resampled once from the picture;
        ori_shape (H, W) of the picture, img_shape (H, W) of a global crop, pixels.

    A JPEG whose crops are all at least twice as large as needed is decoded at 1/2, 1/4 or 1/8; larger crops are then
    taken from halves that all crops share.

    Args:
        global_crops: arguments of ``Crops``.
        local_crops: arguments of ``Crops``; None or a number of 0 makes none.
        flip_prob: how often a crop is mirrored left to right.

    Raises:
        ImageReadError: if the picture cannot be read.
    """

    def __init__(self, global_crops: Mapping[str, Any], local_crops: Optional[Mapping[str, Any]] = None,
                 flip_prob: float = 0.5) -> None:
        self.kinds = {'global_crops': Crops.of({'number': 2, 'area': (0.32, 1.0), **global_crops},
                                               'MultiCrop.global_crops')}
        if local_crops is not None:
            self.kinds['local_crops'] = Crops.of({'number': 8, 'area': (0.05, 0.32), **local_crops},
                                                 'MultiCrop.local_crops')
        if self.kinds['global_crops'].number == 0:
            raise ValueError('MultiCrop.global_crops.number must be at least 1')
        if not isinstance(flip_prob, (int, float)) or not 0 <= flip_prob <= 1:
            raise ValueError(f'MultiCrop.flip_prob must lie in [0, 1], not {flip_prob!r}')
        self.flip_prob = flip_prob

    def check(self, results: Results) -> None:
        """A picture must be there in one form or another."""
        if not any(name in results for name in ('img', 'img_bytes')):
            self.require(results, 'img_path')
        if 'img' in results:
            self.require(results, 'img')

    def apply(self, results: Results) -> Results:
        """Add the crops to ``results``."""
        encoded = None if 'img' in results else _encoded(results)
        size = results['img'].shape[:2] if encoded is None else encoded.size
        drawn = {name: [(crops.draw(size), np.random.random() < self.flip_prob) for _ in range(crops.number)]
                 for name, crops in self.kinds.items()}
        if encoded is None:
            pixels = results['img']
        else:
            pixels = encoded.decode(reduction_for(min(
                _ratio(window, self.kinds[name].size) for name, windows in drawn.items() for window, _ in windows)))
        levels = Halves(pixels, size)
        for name, windows in drawn.items():
            if windows:
                results[name] = [_cut(levels, window, self.kinds[name].size, mirrored) for window, mirrored in windows]
        results.update(ori_shape=size, img_shape=self.kinds['global_crops'].size)
        results.pop('img_bytes', None)
        return results


def _are_numbers(value: Any, kind: Any) -> bool:
    """Whether ``value`` is two numbers."""
    return isinstance(value, tuple) and len(value) == 2 and all(
        isinstance(item, kind) and not isinstance(item, bool) for item in value)


def _encoded(results: Results) -> EncodedImage:
    content = results.get('img_bytes')
    name = str(results.get('img_path', 'picture in memory'))
    return EncodedImage(file_content(results['img_path'], name)[0] if content is None else content, name)


def _ratio(window: Sequence[float], size: tuple[int, int]) -> float:
    """Pixels of a window along a side for one of the crop, on the side where that is less."""
    return min(window[2] / size[0], window[3] / size[1])


class Halves:
    """A picture, its half, quarter and so on, each made of the one before when it is first needed.

    Args:
        pixels: (h, w, 3) uint8, the picture as it was decoded.
        size: (H, W) of the picture as it is stored.
    """

    def __init__(self, pixels: np.ndarray, size: tuple[int, int]) -> None:
        self._levels = [pixels]
        self._scale = pixels.shape[0] / size[0], pixels.shape[1] / size[1]

    def fitting(self, ratio: float) -> tuple[np.ndarray, tuple[float, float]]:
        """The smallest one that is large enough, and its scale (y, x).

        Args:
            ratio: stored pixels along a side for one that is needed.
        """
        number, needed = 0, ratio * min(self._scale)
        while needed >= 2 and min(self._levels[number].shape[:2]) >= 2:
            number, needed = number + 1, needed / 2
            if number == len(self._levels):
                height, width = (side // 2 * 2 for side in self._levels[-1].shape[:2])
                self._levels.append(cv2.resize(self._levels[-1][:height, :width], (width // 2, height // 2),
                                               interpolation=cv2.INTER_AREA))
        return self._levels[number], (self._scale[0] / 2**number, self._scale[1] / 2**number)


def _cut(levels: Halves, window: Sequence[float], size: tuple[int, int], mirrored: bool) -> np.ndarray:
    """The crop of ``size`` (H, W) that ``window`` of the stored picture makes."""
    pixels, (scale_y, scale_x) = levels.fitting(_ratio(window, size))
    top, height = _whole(window[0] * scale_y, window[2] * scale_y, pixels.shape[0])
    left, width = _whole(window[1] * scale_x, window[3] * scale_x, pixels.shape[1])
    crop = resample(pixels[top:top + height, left:left + width], size)
    return cv2.flip(crop, 1) if mirrored else crop


def _whole(start: float, length: float, available: int) -> tuple[int, int]:
    """First pixel, and number of pixels, of a span; at least one, all available."""
    first = min(round(start), available - 1)
    return first, max(1, min(round(start + length), available) - first)


def resample(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """``picture`` (H, W, 3) uint8 at ``size`` (H, W): cubic where it grows, without aliases where it shrinks."""
    ratios = picture.shape[0] / size[0], picture.shape[1] / size[1]
    if max(ratios) <= 1:
        flag = cv2.INTER_CUBIC
    elif max(ratios) <= _LINEAR_UP_TO:
        flag = cv2.INTER_LINEAR
    else:
        flag = cv2.INTER_AREA
    return np.array(picture) if ratios == (1, 1) else cv2.resize(picture, size[::-1], interpolation=flag)
