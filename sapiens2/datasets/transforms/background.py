"""Put people before another background."""

from __future__ import annotations

import os
from typing import Union

import cv2
import numpy as np

from sapiens2.datasets.errors import Kind
from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import read_image
from sapiens2.utils.image_list import list_images
from sapiens2.utils.resample import cover


@TRANSFORMS.register_module()
class RandomBackground(RandomStep):
    """Replace the pixels that are not on a person by those of a random picture, cut to cover the whole.

    People are where ``mask`` is set or, without one, where ``sem_seg`` is not 0.

    Args:
        background_root: folder of background pictures, sub-folders included; empty switches the step off.
        skip_key: samples with this key set keep their background, as photographs of real places should.
        prob: how often.

    Raises:
        FileNotFoundError: if ``background_root`` holds no picture.
        DataError: naming the sample, if it says of no pixel whether it is on a person.
    """

    def __init__(self, background_root: Union[str, os.PathLike] = '', skip_key: str = 'in_the_wild',
                 prob: float = 0.8) -> None:
        super().__init__(prob if background_root else 0)
        self.paths = [str(file.path) for file in list_images([background_root])] if background_root else []
        self.skip_key = skip_key

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        if results.get(self.skip_key):
            return results
        if 'mask' not in results and 'sem_seg' not in results:
            raise self.fault(results, Kind.MISSING_FIELD, 'mask', 'needs mask or sem_seg to know the person from the '
                             'background', 'put LoadFields before it, and name a folder of either in data_prefix')
        person = results['mask'] if 'mask' in results else (results['sem_seg'] != 0).view(np.uint8)
        background = cover(
            read_image(self.paths[np.random.randint(len(self.paths))]), results['img'].shape[:2], *np.random.random(2))
        results['img'] = cv2.copyTo(results['img'], person, background)
        return results
