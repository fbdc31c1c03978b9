"""From a picture to what the backbone sees, as transformers and XTuner want an image processor."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import torch
from PIL import Image
from transformers.image_processing_base import BatchFeature, ImageProcessingMixin

from sapiens2.datasets.transforms import Resize
from sapiens2.models.data_preprocessors import SapiensDataPreprocessor
from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import MEAN, STD
from sapiens2.utils.image_io import read_image, upright

Picture = Union[Image.Image, np.ndarray, str, os.PathLike]

_PATCH, _WHITE = 16, 255


class Sapiens2ImageProcessor(ImageProcessingMixin):
    """Upright pictures of any size, resized in their shape between black borders, normalised as sapiens2 does.

    People are never stretched, and nothing is cut off. XTuner's ``pad_image_to_square`` must stay off: it would make
    people smaller and the borders wider.

    Args:
        size: ``height`` and ``width`` of the network's input, pixels, multiples of 16; or (H, W).
        image_mean, image_std: of R, G, B, in [0, 1], as transformers writes them.
        kwargs: of ``ImageProcessingMixin``.

    Raises:
        ValueError: for a size that patches do not divide.
    """

    model_input_names = ['pixel_values']

    def __init__(self, size: Union[Mapping[str, int], Sequence[int]] = (1024, 768),
                 image_mean: Optional[Sequence[float]] = None, image_std: Optional[Sequence[float]] = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        height, width = (size['height'], size['width']) if isinstance(size, Mapping) else size
        if height < _PATCH or width < _PATCH or height % _PATCH or width % _PATCH:
            raise ValueError(f'size must be height and width in multiples of {_PATCH} pixels, got {size}')
        self.size = {'height': height, 'width': width}
        self.image_mean = [value / _WHITE for value in MEAN] if image_mean is None else list(image_mean)
        self.image_std = [value / _WHITE for value in STD] if image_std is None else list(image_std)

    def preprocess(self, images: Union[Picture, Sequence[Picture]], return_tensors: str = 'pt') -> BatchFeature:
        """Prepare pictures.

        Args:
            images: one or several: PIL images, (H, W, 3) uint8 RGB arrays, or paths.
            return_tensors: as transformers says: 'pt' or 'np'.

        Returns:
            ``pixel_values`` (B, 3, H, W), float32, normalised RGB.

        Raises:
            ImageReadError: naming the file that cannot be read.
            ValueError: for an array of another shape or type.
        """
        several = isinstance(images, Sequence) and not isinstance(images, (str, bytes))
        resize = Resize(size=(self.size['height'], self.size['width']), keep_ratio=True)
        fitted = np.stack([resize({'img': _bgr(image)})['img'] for image in (images if several else [images])])
        preprocessor = SapiensDataPreprocessor(*([value * _WHITE for value in values]
                                                 for values in (self.image_mean, self.image_std)))
        pixels = preprocessor.normalise(torch.from_numpy(fitted).permute(0, 3, 1, 2)).contiguous()
        return BatchFeature({'pixel_values': pixels.numpy()}, tensor_type=return_tensors)

    __call__ = preprocess


def _bgr(image: Picture) -> np.ndarray:
    """A picture as (H, W, 3) uint8 BGR, upright."""
    if isinstance(image, (str, os.PathLike)):
        return read_image(image)
    if isinstance(image, Image.Image):
        pixels = np.asarray(image if image.mode == 'RGB' else image.convert('RGB'))
        return np.ascontiguousarray(upright(pixels, image.info.get('exif', b''))[..., ::-1])
    if not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError('an image must be a PIL image, a path, or an (H, W, 3) uint8 RGB array, got '
                         + (f'{image.dtype} of shape {image.shape}' if isinstance(image, np.ndarray)
                            else type(image).__name__))
    return np.ascontiguousarray(image[..., ::-1])
