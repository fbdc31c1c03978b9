"""Decode images, no larger than later stages need them, and say what they are."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from PIL import Image

from sapiens2.curation.arguments import Count
from sapiens2.curation.columns import CONTENT, ERROR, NAME, Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.encoded_image import EncodedImage, reduction_for
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.utils.image_integrity import JPEG_MAGIC

# Formats that can hold several pictures; others are not opened a second time.
_ANIMATED = ('GIF', 'PNG', 'WEBP', 'TIFF', 'AVIF')


@CURATION_STAGES.register_module()
class Decode(Stage):
    """Sizes, format and pixels. Files that are damaged, cut off, too large or no picture go into quarantine.

    Args:
        longest: of the decoded picture's sides, pixels at most; larger ones are made smaller, since no later stage
            looks closer. Sizes in columns are those of the whole picture.
        kwargs: of ``Stage``.
    """

    inputs = (CONTENT,)
    outputs = {
        'picture': Column('picture', '(h, w, 3) uint8 BGR, upright, made smaller'),
        'format': Column('string', 'of the file, as Pillow calls it'),
        'file_bytes': Column('int64', 'size of the file'),
        'height': Column('int32', 'of the upright picture, pixels'),
        'width': Column('int32', 'of the upright picture, pixels'),
        'shorter_side': Column('int32', 'of the upright picture, pixels'),
        'aspect': Column('float32', 'longer over shorter side'),
        'frames': Column('int32', 'pictures in the file; more than one in an animation'),
        'contrast': Column('float32', 'standard deviation of the grey values, 0 to 128; 0 is one flat colour'),
    }

    def __init__(self, longest: Count = 1024, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.longest = longest

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            try:
                record.update(self._decoded(record[CONTENT], record[NAME]))
            except ImageReadError as error:
                record[ERROR] = error.reason

    def _decoded(self, content: bytes, name: str) -> Record:
        encoded = EncodedImage(content, name)
        height, width = encoded.size
        picture = encoded.decode(reduction_for(max(encoded.size) / self.longest))
        ratio = max(picture.shape[:2]) / self.longest
        if ratio > 1:
            size = [max(1, round(side / ratio)) for side in picture.shape[1::-1]]
            picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        kind, frames = _format(content)
        return {'picture': picture, 'format': kind, 'file_bytes': len(content), 'height': height, 'width': width,
                'shorter_side': min(height, width), 'aspect': max(height, width) / min(height, width),
                'frames': frames, 'contrast': float(np.std(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)))}


def _format(content: bytes) -> tuple[str, int]:
    """Format of a file that can be decoded, and how many pictures it holds."""
    if content.startswith(JPEG_MAGIC):
        return 'JPEG', 1
    with Image.open(io.BytesIO(content)) as image:
        return image.format, getattr(image, 'n_frames', 1) if image.format in _ANIMATED else 1
