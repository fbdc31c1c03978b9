"""Label maps and masks give back the numbers that were stored, or are refused."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.field_files import read_mask
from sapiens2.utils.image_io import ImageReadError, read_labels, read_raster

VALUES = np.zeros((8, 9), np.uint8)
VALUES[2:5, 2:5], VALUES[6] = 1, 3


def grey_png(values: np.ndarray, bits: int) -> bytes:
    """A grey PNG of fewer than 8 bits, which Pillow does not write."""
    rows = b''
    for row in values:
        text = ''.join(format(value, f'0{bits}b') for value in row.tolist())
        text += '0' * (-len(text) % 8)
        rows += b'\0' + bytes(int(text[start:start + 8], 2) for start in range(0, len(text), 8))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    head = struct.pack('>IIBBBBB', values.shape[1], values.shape[0], bits, 0, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


@pytest.mark.parametrize('bits', [2, 4, 8])
def test_grey_of_few_bits_keeps_its_values(tmp_path: Path, bits: int) -> None:
    content = grey_png(VALUES, bits)
    for read in (read_labels, read_raster):
        np.testing.assert_array_equal(read(content), VALUES)
    (tmp_path / 'mask.png').write_bytes(grey_png(VALUES.clip(max=1), bits))
    np.testing.assert_array_equal(read_mask(str(tmp_path / 'mask.png')), VALUES > 0)


@pytest.mark.parametrize('name, options, words', [
    ('x.jpg', {}, 'a JPEG'), ('x.webp', {'quality': 90}, 'lossy WebP'),
    ('x.tif', {'compression': 'jpeg'}, 'TIFF compressed as JPEG'), ('x.pgm', {}, 'Netpbm'), ('x.gif', {}, 'a GIF')])
def test_formats_that_change_values_are_refused(tmp_path: Path, name: str, options: dict, words: str) -> None:
    path = tmp_path / name
    Image.fromarray(VALUES).save(path, **options)
    for read in (read_labels, lambda path: read_raster(path, exact=True), read_mask):
        with pytest.raises(ImageReadError, match=words) as caught:
            read(str(path))
        assert caught.value.path == str(path) and 'PNG' in caught.value.reason
    assert read_raster(path).shape[:2] == VALUES.shape


def test_animated_lossy_webp_is_refused(tmp_path: Path) -> None:
    frames = [Image.fromarray(VALUES * 20), Image.fromarray(VALUES * 30)]
    for lossless in (True, False):
        frames[0].save(tmp_path / 'x.webp', save_all=True, append_images=frames[1:], lossless=lossless)
        if lossless:
            assert read_raster(tmp_path / 'x.webp', exact=True).shape[:2] == VALUES.shape
        else:
            with pytest.raises(ImageReadError, match='lossy WebP'):
                read_raster(tmp_path / 'x.webp', exact=True)


@pytest.mark.parametrize('name, options', [
    ('x.png', {}), ('x.webp', {'lossless': True}), ('x.tif', {}), ('x.tif', {'compression': 'tiff_lzw'}),
    ('x.bmp', {})])
def test_formats_that_keep_values(tmp_path: Path, name: str, options: dict) -> None:
    Image.fromarray(VALUES).save(tmp_path / name, **options)
    np.testing.assert_array_equal(read_labels(tmp_path / name), VALUES)


def test_grey_whose_zero_is_white_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'x.tif'
    Image.fromarray(VALUES).save(path)
    entry = struct.pack('<HHIH', 262, 3, 1, 1)  # photometric interpretation: 0 is black
    assert entry in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(entry, struct.pack('<HHIH', 262, 3, 1, 0)))
    with pytest.raises(ImageReadError, match='0 is white'):
        read_labels(path)


@pytest.mark.parametrize('stored, inside', [
    (np.array([[False, True]]), [0, 1]), (np.array([[0, 1]], np.int64), [0, 1]),
    (np.array([[0, 1]], np.uint16), [0, 1]), (np.array([[0, 127, 128, 255]], np.uint8), [0, 0, 1, 1]),
    (np.array([[0, 127, 128, 255]], np.uint16), [0, 0, 1, 1]),
    (np.array([[0, 255, 40000]], np.int32), [0, 0, 1]), (np.array([[0, 0.4, 0.6, 1]]), [0, 0, 1, 1])])
def test_one_rule_for_masks_of_all_types(tmp_path: Path, stored: np.ndarray, inside: list[int]) -> None:
    np.save(tmp_path / 'mask.npy', stored)
    mask = read_mask(str(tmp_path / 'mask.npy'))
    assert mask.dtype == np.uint8 and mask.tolist() == [inside]


@pytest.mark.parametrize('stored, words', [
    (np.array([[0.0, 255.0]]), 'float64 must lie in 0 to 1'), (np.array([[np.nan, 1]]), 'nan'),
    (np.array([[-1, 1]]), 'goes from -1'), (np.array([[0, 70000]]), '70000'), (np.array([['0', '1']]), 'numbers'),
    (np.array([[1j]]), 'complex'), (np.zeros((0, 4)), 'is empty')])
def test_masks_that_cannot_be(tmp_path: Path, stored: np.ndarray, words: str) -> None:
    np.save(tmp_path / 'mask.npy', stored)
    with pytest.raises(DataError, match=f'mask.npy: mask .*{words}'):
        read_mask(str(tmp_path / 'mask.npy'))
