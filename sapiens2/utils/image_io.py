"""Read and write pictures and label maps: right colours, right orientation, errors that name file and reason.

Everything read stands upright as its EXIF orientation says; boxes and key points are in that frame.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import stat
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import cv2
import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.file_kind import describe_content
from sapiens2.utils.image_integrity import PNG_MAGIC, decode_jpeg, png_chunks, png_fault

Source = Union[str, os.PathLike, bytes]

# A small file can claim to be larger than memory; 268 million pixels cover a 200-megapixel camera.
MAX_PIXELS = 2**28
# So many pixels with four channels of 16 bits, uncompressed. A longer file is a film or an archive.
MAX_BYTES = 8 * MAX_PIXELS
# Formats that Pillow tells by their content; it would take anything for a TGA, and an MPEG film for a picture.
_FORMATS = ('PNG', 'JPEG', 'MPO', 'BMP', 'TIFF', 'WEBP', 'GIF', 'PPM', 'JPEG2000', 'AVIF')
_JPEG_MAGIC = b'\xff\xd8\xff'
_TIFF_MAGIC = (b'II*\x00', b'MM\x00*')
_PICTURE_MAGIC = (_JPEG_MAGIC, PNG_MAGIC, *_TIFF_MAGIC, b'GIF8', b'BM')
# Width, height, bits and sample format (unsigned, signed, float) of a TIFF.
_TIFF_TAGS, _TIFF_FLOAT = (256, 257, 258, 339), 3
_PNG_COLOUR_TYPES = (2, 6)
_PNG_GREY, _PNG_PALETTE = 0, 3
# Pillow's limit on pixels, once for each thread that has lifted it.
_pillow_limits: list[Optional[int]] = []
_PILLOW_LOCK = threading.Lock()
_ORIENTATION_TAG = 0x0112
_TOO_DEEP = 'more than 16 bits a pixel: save it with 8 or 16 bits'
_EXIF_ERRORS = (SyntaxError, OSError, ValueError, TypeError, KeyError, struct.error)
_CUT_OFF = 'cut off: the file ends before the picture does; copy or download it again'
_DAMAGED = 'damaged: its picture data cannot be decoded'
_DAMAGED_OR_STRANGE = 'damaged, or of a rare kind that is not read: save it as PNG with 8 or 16 bits'
# EXIF orientation -> what makes the picture stand upright.
_UPRIGHT: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: np.fliplr,
    3: lambda image: image[::-1, ::-1],
    4: np.flipud,
    5: lambda image: image.swapaxes(0, 1),
    6: lambda image: np.rot90(image, -1),
    7: lambda image: image[::-1, ::-1].swapaxes(0, 1),
    8: np.rot90,
}


class ImageReadError(ValueError):
    """A file cannot be read as a picture. ``path`` and ``reason`` are its parts."""

    def __init__(self, path: str, reason: str = '') -> None:
        # One argument is enough, because a data loader rebuilds what its workers raise from the text alone.
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f'{self.path}: {self.reason}' if self.reason else self.path


class _Header(NamedTuple):
    """What the markers of a JPEG, the chunks of a PNG or the first directory of a TIFF say."""

    pixels: int
    exif: bytes
    convertible: bool  # whether OpenCV turns what is stored into the right BGR
    exact_in_pillow: bool  # whether Pillow is to read the numbers that are stored


def read_image(source: Source) -> np.ndarray:
    """Read a picture as (H, W, 3) uint8 BGR, upright.

    Grey is repeated, palettes are resolved, an alpha channel is dropped (the colours under it are kept as stored),
    16 bits are scaled to 8, CMYK is converted, the first frame of an animation is taken.

    Args:
        source: a path, or the content of a file.

    Raises:
        ImageReadError: naming the file, if it is missing, empty, cut off, too large or no picture.
    """
    content, name = _content(source)
    header = _header(content, name)
    if header is not None and header.convertible:
        pixels = _decode_jpeg(content, name) if content.startswith(_JPEG_MAGIC) else None
        if pixels is None:
            pixels = _decode_opencv(content, name, cv2.IMREAD_COLOR)
        return _upright(pixels, header.exif)
    image = _open_pillow(content, name)
    if image.mode == 'I' and content.startswith(_TIFF_MAGIC):
        raise ImageReadError(name, _TOO_DEEP)  # whatever range its values fill
    return pillow_to_bgr(image, name)


def read_raster(source: Source) -> np.ndarray:
    """Read the numbers that a picture file stores, upright, without converting depth or palette.

    Returns:
        (H, W) or (H, W, C), RGB order, integers or floats as they are stored; a palette picture gives its indices, a
        black-and-white one 0 and 1.

    Raises:
        ImageReadError: as ``read_image``.
    """
    content, name = _content(source)
    header = _header(content, name)
    if header is not None and not header.exact_in_pillow:
        pixels = _decode_opencv(content, name, cv2.IMREAD_UNCHANGED)
        pixels = pixels if pixels.ndim == 2 else pixels[..., [2, 1, 0, 3][:pixels.shape[2]]]
        return _upright(pixels, header.exif)
    pixels = np.asarray(_open_pillow(content, name))
    return pixels.astype(np.uint8) if pixels.dtype == bool else pixels


def read_labels(source: Source) -> np.ndarray:
    """Read a label map as (H, W) integers, upright: grey values, or the indices of a palette picture.

    Raises:
        ImageReadError: as ``read_image``; also for a colour picture, and for a JPEG, whose values are not exact.
    """
    content, name = _content(source)
    if content.startswith(_JPEG_MAGIC):
        raise ImageReadError(name, 'a JPEG does not keep label values exactly: save label maps as PNG')
    try:
        pixels = read_raster(content)
    except ImageReadError as error:
        raise ImageReadError(name, error.reason) from error
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels = pixels[..., :-1]
    if pixels.ndim == 3 and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]
    if pixels.ndim != 2 or pixels.dtype.kind not in 'iu':
        raise ImageReadError(
            name, f'a label map holds one integer a pixel, this holds {pixels.dtype} of shape {pixels.shape}: save '
            'the class indices as a grey or palette PNG')
    return pixels


def write_image(path: Union[str, os.PathLike], image: np.ndarray, quality: int = 95) -> None:
    """Write (H, W), or (H, W, 3) BGR, uint8 or uint16, in the format of the ending; missing folders are made.

    Args:
        quality: of a JPEG or WebP, 1 to 100.

    Raises:
        ValueError: if the ending names no format, or the array does not fit it.
        OSError: if the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    quality_flags = {
        '.jpg': cv2.IMWRITE_JPEG_QUALITY, '.jpeg': cv2.IMWRITE_JPEG_QUALITY, '.webp': cv2.IMWRITE_WEBP_QUALITY}
    options = [quality_flags[suffix], quality] if suffix in quality_flags else []
    try:
        # Encoded in memory, because OpenCV's own writing of files fails without a reason.
        encoded, content = cv2.imencode(suffix, image, options)
    except cv2.error as error:
        raise ValueError(f'{path}: cannot write {image.dtype} of shape {image.shape} as {suffix!r}') from error
    if not encoded:
        raise ValueError(f'{path}: cannot write {image.dtype} of shape {image.shape} as {suffix!r}')
    with atomic_path(path) as partial:
        partial.write_bytes(content.tobytes())


def _content(source: Source) -> tuple[bytes, str]:
    """The bytes of a file, and the name by which errors call it."""
    if isinstance(source, bytes):
        content, name = source, 'picture in memory'
    else:
        name = os.fspath(source)
        try:
            status = os.stat(name)
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                # A pipe or a device may never end.
                raise ImageReadError(name, 'is no regular file but a pipe, a socket or a device')
            if status.st_size > MAX_BYTES:
                raise ImageReadError(name, f'{status.st_size:,} bytes are more than the limit of {MAX_BYTES:,}')
            content = Path(name).read_bytes()
        except OSError as error:
            reason = 'is a folder' if isinstance(error, IsADirectoryError) else (error.strerror or str(error))
            raise ImageReadError(name, f'cannot be opened: {reason}') from error
    if not content:
        raise ImageReadError(name, 'the file is empty (0 bytes)')
    return content, name


def _header(content: bytes, name: str) -> Optional[_Header]:
    """Check the structure of a JPEG, PNG or TIFF; None for other formats.

    OpenCV fills what is missing of a file that was cut off with grey, so completeness is checked here.
    """
    try:
        if content.startswith(_JPEG_MAGIC):
            header = _jpeg_header(content)
        elif content.startswith(PNG_MAGIC):
            header = _png_header(content)
        elif content.startswith(_TIFF_MAGIC):
            header = _tiff_header(content, name)
        else:
            return None
    except (struct.error, IndexError) as error:
        raise ImageReadError(name, _CUT_OFF) from error
    if header is None:
        raise ImageReadError(name, _CUT_OFF)
    if header.pixels > MAX_PIXELS:
        raise ImageReadError(name, f'{header.pixels:,} pixels are more than the limit of {MAX_PIXELS:,}')
    return header


def _jpeg_header(content: bytes) -> Optional[_Header]:
    """Walk the segments up to the first scan; None if the end marker after it is missing."""
    position, exif, pixels, components = 2, b'', 0, 0
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
            pixels = height * width
        elif marker == 0xE1 and content.startswith(b'Exif\x00\x00', position + 4):
            exif = content[position + 4:position + 2 + length]
        position += 2 + length
        if marker == 0xDA:
            # Scan data escape 0xFF, so the end marker cannot occur in them; an embedded thumbnail comes before.
            complete = content.rfind(b'\xff\xd9', position) >= 0
            return _Header(pixels, exif, components in (1, 3), True) if complete else None


def _png_header(content: bytes) -> Optional[_Header]:
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
            return _Header(width * height, exif, plain and colour_type != _PNG_PALETTE, exact)
    return None


def _tiff_header(content: bytes, name: str) -> _Header:
    """Pillow reads most kinds of TIFF, but cuts 16 bits of colour to 8; OpenCV knows some that Pillow does not."""
    tags = _tags(content)
    width, height, bits, kinds = ([value for value in np.atleast_1d(tags.get(tag)).tolist() if isinstance(value, int)]
                                  or [1] for tag in _TIFF_TAGS)
    known = _pillow_knows(content)
    exact = known and not (len(bits) > 1 and max(bits) > 8)
    return _Header(width[0] * height[0], content, not known and _TIFF_FLOAT not in kinds, exact)


def _tags(exif: bytes) -> Mapping[int, Any]:
    """The entries of an EXIF block, which is a TIFF file without pixels; none if they cannot be read."""
    block = Image.Exif()
    try:
        block.load(exif)
        return dict(block)
    except _EXIF_ERRORS:
        return {}  # an unreadable block says nothing, of orientation for instance, and viewers ignore it too


def _upright(image: np.ndarray, exif: bytes) -> np.ndarray:
    """Apply the orientation of an EXIF block."""
    turn = _UPRIGHT.get(_tags(exif).get(_ORIENTATION_TAG, 1)) if exif else None
    return image if turn is None else np.ascontiguousarray(turn(image))


def _decode_jpeg(content: bytes, name: str, colors: str = 'BGR') -> Optional[np.ndarray]:
    """Decode a JPEG and refuse it if it is damaged; None if it is of a rare kind that OpenCV or Pillow must read."""
    pixels, fault = decode_jpeg(content, colors)
    if fault:
        raise ImageReadError(name, f'{_DAMAGED} ({fault})')
    return pixels


def _decode_opencv(content: bytes, name: str, flag: int) -> np.ndarray:
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:  # limits of its own, on sides and on memory
        raise ImageReadError(name, f'OpenCV does not read it: {error.err}') from error
    if image is None:
        raise ImageReadError(name, _DAMAGED)
    return image


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


def _pillow_knows(content: bytes) -> bool:
    try:
        with _without_pillow_limit():
            _begin_pillow(content)
    except UnidentifiedImageError:
        return False
    except Exception:  # as in ``_open_pillow``, which says what is wrong
        return True
    return True


def _open_pillow(content: bytes, name: str) -> Image.Image:
    """Decode with Pillow, upright, and refuse what it passes over."""
    try:
        with _without_pillow_limit():
            image = _begin_pillow(content)
            if image.width * image.height > MAX_PIXELS:
                raise ImageReadError(
                    name, f'{image.width} x {image.height} pixels are more than the limit of {MAX_PIXELS:,}')
            image.load()
        if content.startswith(PNG_MAGIC) and (fault := png_fault(content)):
            raise ImageReadError(name, f'{_DAMAGED} ({fault})')
        if content.startswith(_JPEG_MAGIC):
            _decode_jpeg(content, name, 'CMYK' if image.mode == 'CMYK' else 'BGR')
    except UnidentifiedImageError as error:
        if content.startswith(_PICTURE_MAGIC):
            raise ImageReadError(name, _DAMAGED_OR_STRANGE) from error
        raise ImageReadError(name, f'not a picture: it is {describe_content(content[:1024])}') from error
    except ImageReadError:
        raise
    except Exception as error:  # each of Pillow's decoders has its own for a damaged file
        cut_off = any(word in str(error) for word in ('truncated', 'incomplete', 'not enough'))
        raise ImageReadError(name, _CUT_OFF if cut_off else f'{_DAMAGED} ({error})') from error
    try:
        return ImageOps.exif_transpose(image)
    except _EXIF_ERRORS:
        return image  # as in ``_tags``


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
            raise ImageReadError(name, _TOO_DEEP)
        grey = ((values + 128) // 257).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.mode == 'P' and 'transparency' in image.info:
        image = image.convert('RGBA')
    return np.ascontiguousarray(np.asarray(image.convert('RGB'))[..., ::-1])
