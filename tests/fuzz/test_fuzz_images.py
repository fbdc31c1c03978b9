"""Whatever bytes a picture file holds, reading gives pixels of the documented kind or an ``ImageReadError``."""

from __future__ import annotations

import io
from typing import Optional

import cv2
import numpy as np
import pytest
from fuzz.budget import fuzz, outcome
from fuzz.mutation import mutated
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sapiens2.utils.encoded_image import EncodedImage
from sapiens2.utils.image_io import ImageReadError, read_image, read_labels, read_raster


def _seeds() -> dict[str, bytes]:
    """Small pictures of every format and mode that is read."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (13, 17, 3), dtype=np.uint8)
    rgb, exif = Image.fromarray(pixels), Image.Exif()
    exif[0x0112] = 6
    grey16 = Image.fromarray(rng.integers(0, 65536, (13, 17), dtype=np.uint16))
    kinds = {
        'jpeg': (rgb, dict(format='JPEG', exif=exif)),
        'jpeg progressive': (rgb, dict(format='JPEG', progressive=True)),
        'jpeg cmyk': (rgb.convert('CMYK'), dict(format='JPEG')),
        'jpeg grey': (rgb.convert('L'), dict(format='JPEG')),
        'png': (rgb, dict(format='PNG', exif=exif)),
        'png rgba': (rgb.convert('RGBA'), dict(format='PNG')),
        'png palette': (rgb.convert('P'), dict(format='PNG', transparency=3)),
        'png 1': (rgb.convert('1'), dict(format='PNG')),
        'png 16': (grey16, dict(format='PNG')),
        'webp': (rgb, dict(format='WEBP', exif=exif)),
        'webp lossless': (rgb, dict(format='WEBP', lossless=True)),
        'gif': (rgb.convert('P'), dict(format='GIF')),
        'gif animated': (rgb.convert('P'), dict(format='GIF', save_all=True, append_images=[rgb.convert('P')])),
        'bmp': (rgb, dict(format='BMP')),
        'tiff': (rgb, dict(format='TIFF')),
        'tiff lzw': (rgb, dict(format='TIFF', compression='tiff_lzw')),
        'tiff deflate': (grey16, dict(format='TIFF', compression='tiff_adobe_deflate')),
        'tiff jpeg': (rgb, dict(format='TIFF', compression='jpeg')),
        'ppm': (rgb, dict(format='PPM')),
        'jpeg 2000': (rgb, dict(format='JPEG2000')),
    }
    seeds = {}
    for name, (image, options) in kinds.items():
        buffer = io.BytesIO()
        image.save(buffer, **options)
        seeds[name] = buffer.getvalue()
    seeds['tiff 16 colours'] = cv2.imencode('.tiff', rng.integers(0, 65536, (13, 17, 3), dtype=np.uint16))[1].tobytes()
    seeds['png 16 colours'] = cv2.imencode('.png', rng.integers(0, 65536, (13, 17, 3), dtype=np.uint16))[1].tobytes()
    return seeds


SEEDS = _seeds()
# Starts that lead bytes without order into each decoder.
STARTS = [b'', *{content[:12] for content in SEEDS.values()}, b'<svg ', b'<!doctype html>', b'\x00\x00\x00\x1cftypavif']


def check(content: bytes) -> None:
    """All readers of pictures."""
    image = outcome(lambda: read_image(content), ImageReadError)
    assert image is None or image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.size
    raster = outcome(lambda: read_raster(content), ImageReadError)
    assert raster is None or raster.ndim in (2, 3) and raster.dtype.kind in 'uif'
    labels = outcome(lambda: read_labels(content), ImageReadError)
    assert labels is None or labels.ndim == 2 and labels.dtype.kind in 'iu'
    encoded: Optional[EncodedImage] = outcome(lambda: EncodedImage(content, 'picture'), ImageReadError)
    if encoded is not None:
        decoded = outcome(encoded.decode, ImageReadError)
        assert decoded is None or decoded.shape[:2] == encoded.size
        outcome(lambda: encoded.decode(4), ImageReadError)


@pytest.mark.parametrize('name', sorted(SEEDS))
def test_seeds_are_read(name: str) -> None:
    assert read_image(SEEDS[name]).shape in ((13, 17, 3), (17, 13, 3))


@fuzz(400)
@given(mutated(SEEDS))
def test_damaged_pictures(content: bytes) -> None:
    check(content)


@fuzz(150)
@given(st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=300)))
def test_bytes_without_order(content: bytes) -> None:
    check(content)
