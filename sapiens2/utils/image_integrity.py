"""Damage inside a picture that decoders pass over: they fill what is missing with grey or zeros, which look real."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from typing import Optional

import numpy as np
import simplejpeg

from sapiens2.utils.image_errors import DAMAGED, ImageReadError

JPEG_MAGIC = b'\xff\xd8\xff'
TIFF_MAGIC = (b'II*\x00', b'MM\x00*')
PNG_MAGIC = b'\x89PNG\r\n\x1a\n'
# What libjpeg says of data that it has replaced by a guess; its other warnings concern nothing that is seen.
_JPEG_DAMAGE = re.compile(r'Corrupt JPEG data|Premature end')
_EXTRANEOUS = re.compile(r'Corrupt JPEG data: (\d+) extraneous bytes before marker 0xd9')
# Some cameras leave so many bytes behind the picture, or any number of equal ones.
_HARMLESS_BYTES = 4
# Channels of the colour types of PNG, and the passes of an interlaced one: first column and row, steps of both.
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_PIECE = 1 << 20


def decode_jpeg(content: bytes, name: str, colors: str = 'BGR',
                least_size: tuple[int, int] = (0, 0)) -> Optional[np.ndarray]:
    """Decode a JPEG strictly, as fast as OpenCV and to the same values.

    Args:
        content: of the file.
        name: of the picture, for the error.
        colors: 'BGR', or 'CMYK' for a picture that is stored so.
        least_size: (H, W), pixels: the smallest of the sizes that the format decodes to directly (whole, 7/8, ... 1/8)
            that covers it; 0 is the whole.

    Returns:
        (H, W, 3 or 4) uint8, not turned; None if this decoder does not know the kind, which is for others to read.

    Raises:
        ImageReadError: if it is damaged.
    """
    try:
        return simplejpeg.decode_jpeg(content, colors, strict=True, min_height=least_size[0], min_width=least_size[1])
    except ValueError as error:
        text = str(error)
    if not _JPEG_DAMAGE.search(text) or _is_padding(content, text):
        return None
    raise ImageReadError(name, f'{DAMAGED} ({text.splitlines()[0]})')


def _is_padding(content: bytes, warning: str) -> bool:
    """Whether what a JPEG holds between its picture and its end marker is a filling."""
    found = _EXTRANEOUS.search(warning)
    if not found:
        return False
    end, count = content.rfind(b'\xff\xd9'), int(found[1])
    return count <= _HARMLESS_BYTES or len(set(content[max(end - count, 0):end])) == 1


def png_chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Kind, offset of the data and their length, of each chunk of a PNG, up to the first that is cut off.

    Raises:
        struct.error: if the header of a chunk is cut off.
    """
    position = len(PNG_MAGIC)
    while position < len(content):
        length, kind = struct.unpack_from('>I4s', content, position)
        yield kind, position + 8, length
        position += 12 + length


def png_fault(content: bytes) -> Optional[str]:
    """What is damaged in the picture data of a PNG that has all of its chunks; None if nothing is."""
    decoder, size = zlib.decompressobj(), 0
    for kind, start, length in png_chunks(content):
        if kind != b'IDAT':
            continue
        if zlib.crc32(content[start - 4:start + length]) != struct.unpack_from('>I', content, start + length)[0]:
            return 'the check sum of its picture data is wrong'
        piece = content[start:start + length]
        try:
            while piece:
                size += len(decoder.decompress(piece, _PIECE))
                piece = decoder.unconsumed_tail
        except zlib.error as error:
            return str(error)
    expected = _png_bytes(content)
    return f'it holds {size:,} of {expected:,} bytes of picture data' if size < expected else None


def _png_bytes(content: bytes) -> int:
    """Size of the picture data of a PNG before compression: each row has one byte more than its pixels."""
    width, height, bits, colors, _, _, interlaced = struct.unpack_from('>IIBBBBB', content, len(PNG_MAGIC) + 8)
    bits *= _PNG_CHANNELS.get(colors, 1)
    passes = _ADAM7 if interlaced else ((0, 0, 1, 1),)
    sizes = ((-(-(width - x) // step_x), -(-(height - y) // step_y)) for x, y, step_x, step_y in passes)
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes if columns > 0 and rows > 0)
