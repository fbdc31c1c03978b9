"""Pictures and boxes of visitors are checked before anything is computed."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from sapiens2.serve.refusals import Refused
from sapiens2.serve.uploads import MAX_BOXES, add_corner, parse_boxes, read_upload, short_name

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def _read(path, name='photo.png', max_bytes=100_000, max_pixels=10_000):
    return read_upload(path, name, max_bytes, max_pixels)


def _png_that_claims(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress(b'')) + chunk(b'IEND', b''))


def test_a_picture_comes_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new('RGB', (40, 20), 'red').save(tmp_path / 'a.jpg', exif=exif)
    image = _read(tmp_path / 'a.jpg')
    assert image.shape == (40, 20, 3) and image[0, 0].argmax() == 2


@pytest.mark.parametrize('content, message', [
    (SVG, 'SVG drawing'),
    (b'<!DOCTYPE html><script>alert(1)</script>', 'HTML page'),
    (b'', 'empty'),
    (b'\x89PNG\r\n\x1a\n', 'cut off'),
    (b'MZ\x00\x01\x02\xff', 'not a picture'),
    (b'x' * 100_001, r'0.1 MB; at most 0.1 MB'),
    (_png_that_claims(200, 100), 'too many pixels; at most 0.01 megapixels'),
    (_png_that_claims(60_000, 60_000), 'too many pixels'),
])
def test_what_is_refused_and_how(tmp_path, content, message):
    (tmp_path / 'secret-folder').write_bytes(content)
    with pytest.raises(Refused, match=message) as refusal:
        _read(tmp_path / 'secret-folder')
    assert str(refusal.value).startswith('photo.png') and 'secret' not in str(refusal.value)


def test_formats_that_header_readers_do_not_know_have_the_limit_too(tmp_path):
    Image.new('RGB', (200, 100)).save(tmp_path / 'a.webp')
    with pytest.raises(Refused, match='too many pixels'):
        _read(tmp_path / 'a.webp')


def test_names_are_short_and_printable():
    assert short_name('../../etc/passwd') == 'passwd' and short_name('C:\\a\\b.png') == 'b.png'
    assert short_name('a\x1b[2J\n.png') == 'a\\x1b[2J\\n.png' and short_name('') == 'The file'
    assert len(short_name('x' * 300 + '.png')) <= 60 and short_name('x' * 300 + '.png').endswith('.png')


def test_boxes():
    boxes = parse_boxes('1, 2, 30, 40\n\n [50 60.5 7 8]\n')
    np.testing.assert_array_equal(boxes, [[1, 2, 30, 40], [7, 8, 50, 60.5]])
    for text, message in (('', 'no box yet'), ('1 2 3', 'Line 1'), ('1 2 3 4\n1 2 3 nan', 'Line 2'),
                          ('1 2 3 4\n' * (MAX_BOXES + 1), 'at most 50')):
        with pytest.raises(Refused, match=message):
            parse_boxes(text)


def test_two_corners_make_a_box():
    text = ''
    for corner in ((50, 60.4), (7.6, 8), (1, 2), (3, 4)):
        text = add_corner(text, *corner)
    assert text == '50, 60, 8, 8\n1, 2, 3, 4'
    np.testing.assert_array_equal(parse_boxes(text), [[8, 8, 50, 60], [1, 2, 3, 4]])
    assert add_corner('1 2 3 4\n', 5, 6) == '1 2 3 4\n5, 6'
