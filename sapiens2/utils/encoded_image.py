"""A picture whose size is known before it is decoded, so that no more of it is decoded than is needed."""

from __future__ import annotations

from typing import Optional

import numpy as np

from sapiens2.utils.image_headers import read_header
from sapiens2.utils.image_integrity import JPEG_MAGIC, decode_jpeg
from sapiens2.utils.image_io import orientation, read_image, upright

# Of the sizes that a JPEG decodes to directly, these take less time than the whole.
REDUCTIONS = (8, 4, 2)


class EncodedImage:
    """The content of a picture file; pixels come out as ``read_image`` gives them, upright (H, W, 3) uint8 BGR.

    Args:
        content: of the file.
        name: by which errors call it.

    Attributes:
        size: (H, W) of the upright picture, pixels.

    Raises:
        ImageReadError: if it is cut off, too large, or no picture. What is wrong inside a JPEG shows when it is
            decoded.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name = content, name
        self._pixels: Optional[np.ndarray] = None
        header = read_header(content, name)
        if header is not None and header.convertible and content.startswith(JPEG_MAGIC):
            self._exif = header.exif
            self._stored_size = header.height, header.width
            self.size = self._stored_size[::-1] if orientation(self._exif) >= 5 else self._stored_size
        else:
            self._pixels = read_image(content, name)
            self.size = self._pixels.shape[:2]

    def decode(self, reduction: int = 1) -> np.ndarray:
        """The pixels; of a JPEG with a ``reduction`` of 2, 4 or 8, each averages that many in both directions.

        The result of other pictures, and of JPEGs of rare kinds, may be larger than asked for.
        """
        if self._pixels is not None:
            return self._pixels
        least = tuple(-(-side // reduction) for side in self._stored_size) if reduction > 1 else (0, 0)
        pixels = decode_jpeg(self.content, self.name, least_size=least)
        return read_image(self.content, self.name) if pixels is None else upright(pixels, self._exif)


def reduction_for(ratio: float) -> int:
    """The largest reduction that keeps at least one decoded pixel for each one needed.

    Args:
        ratio: stored pixels along a side for one that is needed.
    """
    return next((reduction for reduction in REDUCTIONS if reduction <= ratio), 1)
