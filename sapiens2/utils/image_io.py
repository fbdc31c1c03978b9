"""Read and write pictures and label maps: right colours, right orientation, errors that name file and reason.

Everything read stands upright as its EXIF orientation says; boxes and key points are in that frame.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Union

import cv2
import numpy as np

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.exact_pictures import grey_step, inexact_kind
from sapiens2.utils.image_errors import DAMAGED, MAX_PIXELS, TOO_DEEP, ImageReadError
from sapiens2.utils.image_headers import read_header
from sapiens2.utils.image_integrity import JPEG_MAGIC, TIFF_MAGIC, decode_jpeg
from sapiens2.utils.pillow_pictures import exif_tags, open_pillow, pillow_to_bgr
from sapiens2.utils.regular_file import IRREGULAR, is_irregular

Source = Union[str, os.PathLike, bytes]

# So many pixels with four channels of 16 bits, uncompressed. A longer file is a film or an archive.
MAX_BYTES = 8 * MAX_PIXELS
_ORIENTATION_TAG = 0x0112
_EXACT_REMEDY = 'save the values as a grey or palette PNG'
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


def read_image(source: Source, name: str = '') -> np.ndarray:
    """Read a picture as (H, W, 3) uint8 BGR, upright.

    Grey is repeated, palettes are resolved, an alpha channel is dropped (the colours under it are kept as stored),
    16 bits are scaled to 8, CMYK is converted, the first frame of an animation is taken.

    Args:
        source: a path, or the content of a file.
        name: by which errors call it; its path, if it has one, by default.

    Raises:
        ImageReadError: naming the file, if it is missing, empty, cut off, too large or no picture.
    """
    content, name = file_content(source, name)
    header = read_header(content, name)
    if header is not None and header.convertible:
        pixels = decode_jpeg(content, name) if content.startswith(JPEG_MAGIC) else None
        if pixels is None:
            pixels = _decode_opencv(content, name, cv2.IMREAD_COLOR)
        return upright(pixels, header.exif)
    image = open_pillow(content, name)
    if image.mode == 'I' and content.startswith(TIFF_MAGIC):
        raise ImageReadError(name, TOO_DEEP)  # whatever range its values fill
    return pillow_to_bgr(image, name)


def read_raster(source: Source, exact: bool = False) -> np.ndarray:
    """Read the numbers that a picture file stores, upright, without converting depth or palette.

    Args:
        exact: refuse formats, such as JPEG, that do not give back the numbers that were stored.

    Returns:
        (H, W) or (H, W, C), RGB order, integers or floats as they are stored; a palette picture gives its indices, a
        black-and-white one 0 and 1.

    Raises:
        ImageReadError: as ``read_image``, and for what ``exact`` refuses.
    """
    content, name = file_content(source)
    if exact and (kind := inexact_kind(content)):
        raise ImageReadError(name, f'is {kind}: {_EXACT_REMEDY}')
    header = read_header(content, name)
    if header is not None and not header.exact_in_pillow:
        pixels = _decode_opencv(content, name, cv2.IMREAD_UNCHANGED)
        pixels = pixels if pixels.ndim == 2 else pixels[..., [2, 1, 0, 3][:pixels.shape[2]]]
        return upright(pixels, header.exif)
    pixels = np.asarray(open_pillow(content, name))
    pixels = pixels.astype(np.uint8) if pixels.dtype == bool else pixels
    step = grey_step(content)
    return pixels if step == 1 else pixels // pixels.dtype.type(step)


def read_labels(source: Source) -> np.ndarray:
    """Read a label map as (H, W) integers, upright: grey values, or the indices of a palette picture.

    Raises:
        ImageReadError: as ``read_image``; also for a colour picture, and for one whose values are not exact.
    """
    pixels, name = read_raster(source, exact=True), _name(source)
    if pixels.ndim == 3 and pixels.shape[2] in (2, 4):
        pixels = pixels[..., :-1]
    if pixels.ndim == 3 and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]
    if pixels.ndim != 2 or pixels.dtype.kind not in 'iu':
        raise ImageReadError(
            name, f'a label map holds one integer a pixel, this holds {pixels.dtype} of shape {pixels.shape}: '
            + _EXACT_REMEDY)
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


def _name(source: Source) -> str:
    """The name by which errors call it."""
    return 'picture in memory' if isinstance(source, bytes) else os.fspath(source)


def file_content(source: Source, name: str = '') -> tuple[bytes, str]:
    """The bytes of a file, and the name by which errors call it.

    Raises:
        ImageReadError: if it is missing, empty, too large or no regular file.
    """
    name = name or _name(source)
    if isinstance(source, bytes):
        content = source
    else:
        try:
            if is_irregular(source):
                raise ImageReadError(name, IRREGULAR)
            size = os.path.getsize(source)
            if size > MAX_BYTES:
                raise ImageReadError(name, f'{size:,} bytes are more than the limit of {MAX_BYTES:,}')
            content = Path(source).read_bytes()
        except OSError as error:
            reason = 'is a folder' if isinstance(error, IsADirectoryError) else (error.strerror or str(error))
            raise ImageReadError(name, f'cannot be opened: {reason}') from error
    if not content:
        raise ImageReadError(name, 'the file is empty (0 bytes)')
    return content, name


def orientation(exif: bytes) -> int:
    """The orientation that an EXIF block states, 1 to 8; from 5 on width and height change places."""
    found = exif_tags(exif).get(_ORIENTATION_TAG, 1) if exif else 1
    return found if found in _UPRIGHT else 1


def upright(image: np.ndarray, exif: bytes) -> np.ndarray:
    """Apply the orientation of an EXIF block."""
    turn = _UPRIGHT.get(orientation(exif))
    return image if turn is None else np.ascontiguousarray(turn(image))


def _decode_opencv(content: bytes, name: str, flag: int) -> np.ndarray:
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), flag | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:  # limits of its own, on sides and on memory
        raise ImageReadError(name, f'OpenCV does not read it: {error.err}') from error
    if image is None:
        raise ImageReadError(name, DAMAGED)
    return image
