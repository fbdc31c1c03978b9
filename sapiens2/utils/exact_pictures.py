"""Whether a picture file gives back the very numbers that were put in: label maps and masks must."""

from __future__ import annotations

import struct
from typing import Optional

from sapiens2.utils.image_integrity import JPEG_MAGIC, PNG_MAGIC, TIFF_MAGIC
from sapiens2.utils.pillow_pictures import exif_tags

_RIFF = b'RIFF'
# Compression, and how grey is meant, of a TIFF.
_TIFF_COMPRESSION, _TIFF_BITS, _TIFF_PHOTOMETRIC = 259, 258, 262
_TIFF_LOSSY = {6: 'JPEG', 7: 'JPEG', 34712: 'JPEG 2000', 34892: 'lossy JPEG', 34927: 'WebP', 50001: 'WebP'}
_WHITE_IS_ZERO = 0
_JPEG_2000 = (b'\x00\x00\x00\x0cjP  ', b'\xff\x4f\xff\x51')
# Netpbm's grey and colour pictures, whose numbers decoders scale.
_NETPBM = (b'P2', b'P3', b'P5', b'P6')
_PNG_GREY = 0


def inexact_kind(content: bytes) -> Optional[str]:
    """What keeps the file ``content`` from giving back exact numbers, in words; None if nothing does."""
    if content.startswith(JPEG_MAGIC):
        return 'a JPEG, which does not keep values exactly'
    if content.startswith(_RIFF) and content[8:12] == b'WEBP':
        return 'a lossy WebP, which does not keep values exactly' if _has_lossy_chunk(content) else None
    if content.startswith(TIFF_MAGIC):
        return _inexact_tiff(content)
    if content.startswith(b'GIF8'):
        return 'a GIF, whose writers number colours anew'
    if content.startswith(_JPEG_2000) or content[4:12] == b'ftypavif':
        return 'an AVIF or a JPEG 2000, which may not keep values exactly'
    if content.startswith(_NETPBM) and content[2:3].isspace():
        return 'a Netpbm picture, whose values are scaled by its largest one'
    return None


def grey_step(content: bytes) -> int:
    """By which factor a decoder has spread the grey values of a PNG with less than 8 bits; 1 for anything else."""
    if not content.startswith(PNG_MAGIC):
        return 1
    bits, colour_type = struct.unpack_from('>BB', content, len(PNG_MAGIC) + 16)
    return 255 // (2**bits - 1) if colour_type == _PNG_GREY and bits in (2, 4) else 1


def _has_lossy_chunk(content: bytes) -> bool:
    """Walk the chunks of a WebP, those inside its frames too."""
    spans = [(12, len(content))]
    while spans:
        position, end = spans.pop()
        while position + 8 <= end:
            kind, (length,) = content[position:position + 4], struct.unpack_from('<I', content, position + 4)
            if kind == b'VP8 ':
                return True
            if kind == b'ANMF':
                spans.append((position + 8 + 16, min(position + 8 + length, end)))
            position += 8 + length + length % 2
    return False


def _inexact_tiff(content: bytes) -> Optional[str]:
    tags = exif_tags(content)
    lossy = _TIFF_LOSSY.get(tags.get(_TIFF_COMPRESSION))
    if lossy:
        return f'a TIFF compressed as {lossy}, which does not keep values exactly'
    bits = tags.get(_TIFF_BITS, 1)
    bits = bits[0] if isinstance(bits, tuple) else bits
    if bits != 1 and tags.get(_TIFF_PHOTOMETRIC) == _WHITE_IS_ZERO:
        return 'a TIFF in which 0 is white, whose values decoders turn round'
    return f'a TIFF of {bits} bits, whose values decoders scale' if bits in (2, 4) else None
