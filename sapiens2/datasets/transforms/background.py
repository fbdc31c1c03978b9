"""Put people before another background."""

from __future__ import annotations

import os
from typing import Union

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomTransform
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import read_image
from sapiens2.utils.image_list import list_images


@TRANSFORMS.register_module()
class RandomBackground(RandomTransform):
    """Replace the pixels that are not on a person by those of a random picture, cut to cover the whole.

    People are where ``mask`` is set or, without one, where ``sem_seg`` is not 0.

    Args:
        root: folder of background pictures, sub-folders included.
        skip_key: samples with this key set keep their background, as photographs of real places should.
        prob: how often.

    Raises:
        FileNotFoundError: if ``root`` holds no picture.
    """

    def __init__(self, root: Union[str, os.PathLike], skip_key: str = 'in_the_wild', prob: float = 0.8) -> None:
        super().__init__(prob)
        self.paths = [str(file.path) for file in list_images([root])]
        self.skip_key = skip_key

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        if results.get(self.skip_key):
            return results
        person = results['mask'] if 'mask' in results else results['sem_seg'] != 0
        background = _cover(read_image(self.paths[np.random.randint(len(self.paths))]), results['img'].shape[:2])
        results['img'] = np.where(person[..., None].astype(bool), results['img'], background)
        return results


def _cover(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Scale ``image`` until it covers ``size`` (H, W), and cut a random part of that size out of it."""
    scale = max(size[0] / image.shape[0], size[1] / image.shape[1])
    height, width = (max(want, round(side * scale)) for want, side in zip(size, image.shape))
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    top, left = np.random.randint(height - size[0] + 1), np.random.randint(width - size[1] + 1)
    return image[top:top + size[0], left:left + size[1]]
