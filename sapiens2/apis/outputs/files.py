"""Files of numbers: JSON, PNG, npz, OpenEXR. All appear whole or not at all."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np
from PIL import Image

from sapiens2.utils.atomic import atomic_path

# Level of zlib for labels, which shrink a lot. Higher ones take three times as long for little more.
_LEVEL = 1
# Signature and IHDR chunk, after which a PNG says how its values are meant.
_PNG_HEAD = 8 + 25


def json_line(document: Any) -> bytes:
    """A document as one line of UTF-8, without the line feed.

    A file name that is no Unicode has bytes that UTF-8 cannot write; JSON writes them as the escape that Python reads
    back as the same name.
    """
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode('utf-8', 'backslashreplace')


def write_json(path: Path, document: Any) -> None:
    """Write a document, see ``json_line``."""
    with atomic_path(path) as partial:
        partial.write_bytes(json_line(document))


def write_png(path: Path, pixels: np.ndarray, gamma: Optional[float] = None) -> None:
    """Write (H, W) or (H, W, 3) RGB, 8 or 16 bits.

    Args:
        gamma: exponent by which viewers turn stored values into light: 1 for linear ones. None says nothing.
    """
    pixels = pixels if pixels.ndim == 2 else cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
    content = cv2.imencode('.png', pixels)[1].tobytes()
    if gamma is not None:
        chunk = b'gAMA' + struct.pack('>I', round(100_000 / gamma))
        content = b''.join((content[:_PNG_HEAD], struct.pack('>I', 4), chunk, struct.pack('>I', zlib.crc32(chunk)),
                            content[_PNG_HEAD:]))
    with atomic_path(path) as partial:
        partial.write_bytes(content)


def write_indexed_png(path: Path, labels: np.ndarray, palette: Sequence[Sequence[int]]) -> None:
    """Write (H, W) uint8 indices with the RGB of each."""
    picture = Image.frombytes('P', labels.shape[::-1], np.ascontiguousarray(labels).tobytes())
    picture.putpalette([int(value) for color in palette for value in color])
    content = io.BytesIO()
    picture.save(content, 'PNG', compress_level=_LEVEL)
    with atomic_path(path) as partial:
        partial.write_bytes(content.getvalue())


def write_npz(path: Path, arrays: Mapping[str, np.ndarray], compressed: Collection[str] = ()) -> None:
    """Write arrays by name; ``compressed`` ones quickly, the others, which would shrink little, as they are."""
    with atomic_path(path) as partial, zipfile.ZipFile(partial, 'w', zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f'{name}.npy')
            member.compress_type = zipfile.ZIP_DEFLATED if name in compressed else zipfile.ZIP_STORED
            # Of the level there is a public name only from Python 3.13 on.
            setattr(member, 'compress_level' if hasattr(member, 'compress_level') else '_compresslevel', _LEVEL)
            with archive.open(member, 'w', force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def write_exr(path: Path, channels: Mapping[str, np.ndarray], **attributes: str) -> None:
    """Write (H, W) planes by channel name, float16 or float32, with texts that say what they are.

    Raises:
        ImportError: if the package OpenEXR is not installed.
    """
    try:
        import OpenEXR
    except ImportError as error:
        raise ImportError(f'{path}: writing OpenEXR files needs the package OpenEXR; pip install "sapiens2[exr]"') \
            from error
    header = {'compression': OpenEXR.ZIP_COMPRESSION, 'type': OpenEXR.scanlineimage, **attributes}
    planes = {name: np.ascontiguousarray(plane) for name, plane in channels.items()}
    with atomic_path(path) as partial:
        OpenEXR.File(header, planes).write(str(partial))
