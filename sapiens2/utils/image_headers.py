"""What the header of a JPEG, PNG or TIFF says, and whether the file is whole.

OpenCV fills what is missing of a file that was cut off with grey, so completeness is checked here.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, Optional

import numpy as np

from sapiens2.utils.image_errors import CUT_OFF, ImageReadError, check_pixels
from sapiens2.utils.image_integrity import JPEG_MAGIC, PNG_MAGIC, TIFF_MAGIC, png_chunks
from sapiens2.utils.pillow_pictures import exif_tags, pillow_knows

# Width, height, bits and sample format (unsigned, signed, float) of a TIFF.
_TIFF_TAGS, _TIFF_FLOAT = (256, 257, 258, 339), 3
_PNG_COLOUR_TYPES = (2, 6)
_PNG_GREY, _PNG_PALETTE = 0, 3


class Header(NamedTuple):
    """What the markers of a JPEG, the chunks of a PNG or the first directory of a TIFF say."""

    height: int  # as stored, before any turning
    width: int
    exif: bytes
    convertible: bool  # whether OpenCV turns what is stored into the right BGR
    exact_in_pillow: bool  # whether Pillow is to read the numbers that are stored

    @property
    def pixels(self) -> int:
        """Their number."""
        return self.height * self.width


def read_header(content: bytes, name: str) -> Optional[Header]:
    """Check the structure of a JPEG, PNG or TIFF; None for other formats.

    Raises:
        ImageReadError: calling the picture ``name``, if the file is cut off or too large.
    """
    try:
        if content.startswith(JPEG_MAGIC):
            header = _jpeg_header(content)
        elif content.startswith(PNG_MAGIC):
            header = _png_header(content)
        elif content.startswith(TIFF_MAGIC):
            header = _tiff_header(content)
        else:
            return None
    except (struct.error, IndexError) as error:
        raise ImageReadError(name, CUT_OFF) from error
    if header is None:
        raise ImageReadError(name, CUT_OFF)
    check_pixels(header.pixels, name)
    return header


def _jpeg_header(content: bytes) -> Optional[Header]:
    """Walk the segments up to the first scan; None if the end marker after it is missing."""
    position, exif, height, width, components = 2, b'', 0, 0, 0
    while True:
        marker = content[position + 1]
        if content[position] != 0xFF or marker == 0xFF:  # fill bytes
            position += 1
            continue
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:  # markers without a length
            position += 2
            continue
        length, = struct.unpack_from('>H', content, position + 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width, components = struct.unpack_from('>HHB', content, position + 5)
        elif marker == 0xE1 and content.startswith(b'Exif\x00\x00', position + 4):
            exif = content[position + 4:position + 2 + length]
        position += 2 + length
        if marker == 0xDA:
            # Scan data escape 0xFF, so the end marker cannot occur in them; an embedded thumbnail comes before.
            complete = content.rfind(b'\xff\xd9', position) >= 0
            return Header(height, width, exif, components in (1, 3), True) if complete else None


def _png_header(content: bytes) -> Optional[Header]:
    """Walk all chunks; None if the last one is missing."""
    exif, plain, has_alpha = b'', True, False
    width, height, bits, colour_type = struct.unpack_from('>IIBB', content, len(PNG_MAGIC) + 8)
    for kind, start, length in png_chunks(content):
        if kind == b'eXIf':
            exif = content[start:start + length]
        plain &= kind != b'acTL'  # an animation
        has_alpha |= kind == b'tRNS'  # OpenCV would add a channel
        if kind == b'IEND':
            # What OpenCV reads exactly is left to it: it is faster, and strict.
            exact = not (bits == 16 and colour_type in _PNG_COLOUR_TYPES
                         or plain and bits in (8, 16) and colour_type == _PNG_GREY and not has_alpha)
            return Header(height, width, exif, plain and colour_type != _PNG_PALETTE, exact)
    return None


def _tiff_header(content: bytes) -> Header:
    """Pillow reads most kinds of TIFF, but cuts 16 bits of colour to 8; OpenCV knows some that Pillow does not."""
    tags = exif_tags(content)
    width, height, bits, kinds = ([value for value in np.atleast_1d(tags.get(tag)).tolist() if isinstance(value, int)]
                                  or [1] for tag in _TIFF_TAGS)
    known = pillow_knows(content)
    exact = known and not (len(bits) > 1 and max(bits) > 8)
    return Header(height[0], width[0], content, not known and _TIFF_FLOAT not in kinds, exact)
