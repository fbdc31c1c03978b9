"""Pictures that Pillow reads, of many formats and modes; damage that it passes over is refused."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import struct
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from sapiens2.utils.file_kind import describe_content
from sapiens2.utils.image_errors import CUT_OFF, DAMAGED, DAMAGED_OR_STRANGE, TOO_DEEP, ImageReadError, check_pixels
from sapiens2.utils.image_integrity import JPEG_MAGIC, PNG_MAGIC, TIFF_MAGIC, decode_jpeg, png_fault
from sapiens2.utils.regular_file import is_irregular

# Formats that Pillow tells by their content; it would take anything for a TGA, and an MPEG film for a picture.
_FORMATS = ('PNG', 'JPEG', 'MPO', 'BMP', 'TIFF', 'WEBP', 'GIF', 'PPM', 'JPEG2000', 'AVIF')
_PICTURE_MAGIC = (JPEG_MAGIC, PNG_MAGIC, *TIFF_MAGIC, b'GIF8', b'BM')
_EXIF_ERRORS = (SyntaxError, OSError, ValueError, TypeError, KeyError, struct.error)
# Pillow's limit on pixels, once for each thread that has lifted it.
_pillow_limits: list[Optional[int]] = []
_PILLOW_LOCK = threading.Lock()


def exif_tags(exif: bytes) -> Mapping[int, Any]:
    """The entries of an EXIF block, which is a TIFF file without pixels; none if they cannot be read."""
    block = Image.Exif()
    try:
        block.load(exif)
        return dict(block)
    except _EXIF_ERRORS:
        return {}  # an unreadable block says nothing, of orientation for instance, and viewers ignore it too


@functools.cache
def _pillow_formats() -> tuple[str, ...]:
    """Those of ``_FORMATS`` that this Pillow was built with."""
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


@contextlib.contextmanager
def _without_pillow_limit() -> Iterator[None]:
    """Lift Pillow's limit on pixels, which is below that of the other formats here, until all threads are done."""
    with _PILLOW_LOCK:
        if not _pillow_limits:
            Image.MAX_IMAGE_PIXELS, limit = None, Image.MAX_IMAGE_PIXELS
        else:
            limit = _pillow_limits[-1]
        _pillow_limits.append(limit)
    try:
        yield
    finally:
        with _PILLOW_LOCK:
            limit = _pillow_limits.pop()
            if not _pillow_limits:
                Image.MAX_IMAGE_PIXELS = limit


def _begin_pillow(content: bytes) -> Image.Image:
    """Let Pillow read the header."""
    return Image.open(io.BytesIO(content), formats=_pillow_formats())


def pillow_knows(content: bytes) -> bool:
    """Whether Pillow has a decoder for it."""
    try:
        with _without_pillow_limit():
            _begin_pillow(content)
    except UnidentifiedImageError:
        return False
    except Exception:  # as in ``open_pillow``, which says what is wrong
        return True
    return True


def stated_pixels(path: Union[str, os.PathLike]) -> int:
    """Pixels of a picture as its header states them, so that no memory is taken for one that is too large.

    0 if Pillow cannot tell; reading the picture says what is wrong with the file.
    """
    if is_irregular(path):
        return 0
    try:
        with _without_pillow_limit(), Image.open(path, formats=_pillow_formats()) as image:
            return image.width * image.height
    except Exception:  # each of its readers has its own
        return 0


def open_pillow(content: bytes, name: str) -> Image.Image:
    """Decode with Pillow, upright, and refuse what it passes over.

    Raises:
        ImageReadError: calling the picture ``name``, if it is cut off, damaged, too large or no picture.
    """
    try:
        with _without_pillow_limit():
            image = _begin_pillow(content)
            check_pixels(image.width * image.height, name)
            image.load()
        if content.startswith(PNG_MAGIC) and (fault := png_fault(content)):
            raise ImageReadError(name, f'{DAMAGED} ({fault})')
        if content.startswith(JPEG_MAGIC):
            decode_jpeg(content, name, 'CMYK' if image.mode == 'CMYK' else 'BGR')
    except UnidentifiedImageError as error:
        if content.startswith(_PICTURE_MAGIC):
            raise ImageReadError(name, DAMAGED_OR_STRANGE) from error
        raise ImageReadError(name, f'not a picture: it is {describe_content(content[:1024])}') from error
    except ImageReadError:
        raise
    except Exception as error:  # each of Pillow's decoders has its own for a damaged file
        cut_off = any(word in str(error) for word in ('truncated', 'incomplete', 'not enough'))
        raise ImageReadError(name, CUT_OFF if cut_off else f'{DAMAGED} ({error})') from error
    try:
        return ImageOps.exif_transpose(image)
    except _EXIF_ERRORS:
        return image  # as in ``exif_tags``


def pillow_to_bgr(image: Image.Image, name: str = 'picture in memory') -> np.ndarray:
    """Convert any Pillow mode to (H, W, 3) uint8 BGR, by the rules of ``read_image``; the picture is not turned.

    Raises:
        ImageReadError: calling the picture ``name``, if its values have no fixed white.
    """
    if image.mode == 'F':
        raise ImageReadError(name, 'a floating-point picture has no fixed white: save it with 8 or 16 bits')
    if image.mode.startswith('I'):
        values = np.asarray(image).astype(np.int64)
        if values.min() < 0 or values.max() > 65535:
            raise ImageReadError(name, TOO_DEEP)
        grey = ((values + 128) // 257).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode == 'P' and 'transparency' in image.info:
        image = image.convert('RGBA')
    return np.ascontiguousarray(np.asarray(image.convert('RGB'))[..., ::-1])
