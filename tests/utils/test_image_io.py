"""Reading and writing pictures: colours, orientation, and what is said about files that cannot be read."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from sapiens2.utils import image_errors, image_io
from sapiens2.utils.image_integrity import png_fault
from sapiens2.utils.image_io import ImageReadError, read_image, read_labels, read_raster, write_image

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def quadrants(height: int = 32, width: int = 48) -> np.ndarray:
    """RGB picture: red, green above blue, white."""
    image = np.zeros((height, width, 3), np.uint8)
    half_h, half_w = height // 2, width // 2
    image[:half_h, :half_w], image[:half_h, half_w:] = RED, GREEN
    image[half_h:, :half_w], image[half_h:, half_w:] = BLUE, WHITE
    return image


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def assert_quadrants(bgr: np.ndarray, tolerance: int) -> None:
    rgb = bgr[..., ::-1].astype(int)
    height, width = rgb.shape[:2]
    for y, x, colour in ((0, 0, RED), (0, 1, GREEN), (1, 0, BLUE), (1, 1, WHITE)):
        got = rgb[height // 4 + y * height // 2, width // 4 + x * width // 2]
        assert np.abs(got - colour).max() <= tolerance, (y, x, got, colour)


@pytest.mark.parametrize('kind, mode, tolerance, options', [
    ('JPEG', 'RGB', 6, dict(quality=95, subsampling=0)),
    ('JPEG', 'RGB', 6, dict(quality=95, subsampling=0, progressive=True)),
    ('JPEG', 'CMYK', 6, dict(quality=95)),
    ('PNG', 'RGB', 0, {}),
    ('PNG', 'RGBA', 0, {}),
    ('PNG', 'P', 0, {}),
    ('BMP', 'RGB', 0, {}),
    ('TIFF', 'RGB', 0, dict(compression='tiff_lzw')),
    ('TIFF', 'CMYK', 0, {}),
    ('WEBP', 'RGB', 0, dict(lossless=True)),
    ('GIF', 'P', 0, {}),
    ('PPM', 'RGB', 0, {}),
])
def test_colours(kind: str, mode: str, tolerance: int, options: dict) -> None:
    content = encoded(Image.fromarray(quadrants()).convert(mode), kind, **options)
    image = read_image(content)
    assert image.shape == (32, 48, 3) and image.dtype == np.uint8 and image.flags['C_CONTIGUOUS']
    assert_quadrants(image, tolerance)


def test_alpha_is_dropped_and_the_colours_under_it_kept() -> None:
    rgba = np.dstack([quadrants(), np.zeros((32, 48), np.uint8)])
    assert_quadrants(read_image(encoded(Image.fromarray(rgba), 'PNG')), 0)
    assert_quadrants(read_image(encoded(Image.fromarray(rgba), 'WEBP', lossless=True, exact=True)), 0)


def test_palette_with_transparency() -> None:
    image = Image.fromarray(quadrants()).convert('P')
    assert_quadrants(read_image(encoded(image, 'PNG', transparency=bytes([0] * 200))), 0)


@pytest.mark.parametrize('mode', ['L', 'LA', '1'])
def test_grey(mode: str) -> None:
    grey = np.zeros((4, 6), np.uint8)
    grey[:, 3:] = 255 if mode == '1' else 130
    image = read_image(encoded(Image.fromarray(grey).convert(mode), 'PNG'))
    assert np.array_equal(image, np.repeat(grey[..., None], 3, axis=2))


def test_16_bit_is_scaled_not_clipped() -> None:
    grey = np.array([[0, 257 * 100, 65535]], np.uint16)
    expected = [0, 100, 255]
    assert read_image(encoded(Image.fromarray(grey), 'PNG'))[0, :, 0].tolist() == expected
    assert read_image(encoded(Image.fromarray(grey), 'TIFF'))[0, :, 0].tolist() == expected
    colour = cv2.imencode('.png', np.dstack([grey, grey * 0, grey * 0]))[1].tobytes()
    assert read_image(colour)[0].tolist() == [[0, 0, 0], [100, 0, 0], [255, 0, 0]]
    colour_tiff = cv2.imencode('.tiff', np.dstack([grey, grey * 0, grey * 0]))[1].tobytes()
    assert read_image(colour_tiff)[0].tolist() == [[0, 0, 0], [100, 0, 0], [255, 0, 0]]


@pytest.mark.parametrize('orientation', range(1, 9))
@pytest.mark.parametrize('kind', ['JPEG', 'PNG', 'WEBP', 'TIFF'])
def test_exif_orientation(orientation: int, kind: str) -> None:
    upright = Image.fromarray(quadrants())
    # What a camera stores, so that a viewer that obeys the tag shows ``upright``.
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270}
    stored = upright.transpose(undo[orientation]) if orientation in undo else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = dict(lossless=True) if kind == 'WEBP' else dict(quality=95, subsampling=0) if kind == 'JPEG' else {}
    content = encoded(stored, kind, exif=exif, **options)
    image = read_image(content)
    assert image.shape == (32, 48, 3)
    assert_quadrants(image, 6)


def test_labels_obey_exif_too() -> None:
    labels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    exif = Image.Exif()
    exif[0x0112] = 6
    content = encoded(Image.fromarray(np.ascontiguousarray(np.rot90(labels))), 'PNG', exif=exif)
    assert np.array_equal(read_labels(content), labels)


def test_broken_exif_is_no_reason_to_fail() -> None:
    content = encoded(Image.fromarray(quadrants()), 'JPEG', exif=b'Exif\x00\x00 nonsense')
    assert read_image(content).shape == (32, 48, 3)


@pytest.mark.parametrize('height, width', [(1, 1), (3, 2000), (6000, 40), (40, 6000)])
@pytest.mark.parametrize('kind', ['JPEG', 'PNG'])
def test_odd_sizes(height: int, width: int, kind: str) -> None:
    assert read_image(encoded(Image.new('RGB', (width, height)), kind)).shape == (height, width, 3)


@pytest.mark.parametrize('kind', ['GIF', 'WEBP', 'PNG'])
def test_animation_gives_the_first_frame(kind: str) -> None:
    frames = [Image.new('RGB', (8, 8), colour) for colour in (RED, GREEN, BLUE)]
    image = read_image(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert np.abs(image[4, 4, ::-1].astype(int) - RED).max() <= 2


def textured() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))


@pytest.mark.parametrize('kind', ['JPEG', 'PNG', 'GIF', 'WEBP', 'BMP', 'TIFF', 'PPM'])
@pytest.mark.parametrize('share', [0.3, 0.6, 0.95])
def test_cut_off(tmp_path: Path, kind: str, share: float) -> None:
    content = encoded(textured(), kind)
    path = tmp_path / f'cut.{kind.lower()}'
    path.write_bytes(content[:int(len(content) * share)])
    with pytest.raises(ImageReadError, match='cut') as caught:
        read_image(path)
    assert 'cut off' in caught.value.reason or 'damaged' in caught.value.reason
    assert caught.value.path == str(path)


@pytest.mark.parametrize('kind, options', [('JPEG', {}), ('JPEG', dict(progressive=True)), ('PNG', {})])
def test_every_cut_is_noticed(kind: str, options: dict) -> None:
    content = encoded(textured(), kind, **options)
    for end in [1, 3, 8, 12, 30, *range(64, len(content), 500), len(content) - 1]:
        with pytest.raises(ImageReadError):
            read_image(content[:end])
    for end in range(64, len(content) - 20, 500):  # a download that reserved its space and stopped
        with pytest.raises(ImageReadError):
            read_image(content[:end] + bytes(len(content) - end))


@pytest.mark.parametrize('mode', ['RGB', 'L', 'CMYK'])
@pytest.mark.parametrize('progressive', [False, True])
def test_a_jpeg_damaged_in_its_middle_is_refused(mode: str, progressive: bool) -> None:
    """Its end marker is there; libjpeg fills the rest with grey and only prints a warning."""
    content = encoded(textured().convert(mode), 'JPEG', quality=90, progressive=progressive)
    assert read_image(content).shape[2] == 3
    middle = len(content) // 2
    for broken in (content[:middle] + content[middle + 100:], content[:middle] + bytes(100) + content[middle + 100:]):
        for read in (read_image, read_raster):
            with pytest.raises(ImageReadError, match='damaged'):
                read(broken)


def test_a_jpeg_gives_what_opencv_gives() -> None:
    content = encoded(textured(), 'JPEG', quality=80)
    assert np.array_equal(read_image(content), cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR))


@pytest.mark.parametrize('filling, is_read', [(bytes(50), True), (b'\x12\x34', True), (bytes(range(60)), False)])
def test_a_filling_before_the_end_of_a_jpeg_is_no_fault(filling: bytes, is_read: bool) -> None:
    content = encoded(textured(), 'JPEG')
    filled = content[:-2] + filling + content[-2:]
    if is_read:
        assert np.array_equal(read_image(filled), read_image(content))
    else:
        with pytest.raises(ImageReadError, match='extraneous bytes'):
            read_image(filled)


def png(rows: int, color_type: int, interlaced: bool = False) -> bytes:
    """A complete PNG of 6 x 5 pixels, (H, W), whose picture data hold ``rows`` rows."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    row = bytes([0, *[1] * (5 * (3 if color_type == 2 else 1))])
    header = struct.pack('>IIBBBBB', 5, 6, 8, color_type, 0, 0, interlaced)
    palette = chunk(b'PLTE', bytes(range(6))) if color_type == 3 else b''
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + palette + chunk(b'IDAT', zlib.compress(row * rows))
            + chunk(b'IEND', b''))


@pytest.mark.parametrize('color_type', [0, 2, 3])
def test_a_png_whose_data_end_early_is_refused(color_type: int) -> None:
    """Pillow leaves the missing rows zero, and zero is a label."""
    reads = (read_image, read_raster) if color_type == 2 else (read_image, read_raster, read_labels)
    for read in reads:
        assert read(png(6, color_type)).shape[:2] == (6, 5)
        with pytest.raises(ImageReadError, match='damaged'):
            read(png(4, color_type))
        broken = bytearray(png(6, color_type))
        broken[-13] ^= 1  # the check sum of the picture data
        with pytest.raises(ImageReadError, match='damaged'):
            read(bytes(broken))


@pytest.mark.parametrize('size, mode', [((5, 6), 'P'), ((1, 1), 'P'), ((3, 9), 'L'), ((17, 2), '1'), ((7, 7), 'LA')])
def test_sizes_of_png_data_are_told_right(size: tuple[int, int], mode: str) -> None:
    assert png_fault(encoded(Image.new(mode, size, 1), 'PNG')) is None


def test_an_interlaced_png_has_more_rows() -> None:
    # Passes of 6 x 5 pixels: 1 + 1 + 1 + 2 + 1 + 3 + 3 rows, each with a byte before its pixels.
    assert png_fault(png(0, 3, interlaced=True)) == 'it holds 0 of 42 bytes of picture data'


@pytest.mark.parametrize('kind, mode', [('JPEG', 'CMYK'), ('WEBP', 'RGB'), ('TIFF', 'RGB'), ('PNG', 'P')])
def test_one_limit_of_pixels_for_all_formats(kind: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow's own, which counts for programs that use it, does not count here and stays what it is."""
    monkeypatch.setattr(Image, 'MAX_IMAGE_PIXELS', 100)
    assert read_image(encoded(Image.new(mode, (48, 32)), kind)).shape == (32, 48, 3)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_data_behind_a_jpeg_is_no_fault() -> None:
    content = encoded(Image.fromarray(quadrants()), 'JPEG')
    assert read_image(content + b'trailer of a phone' * 9).shape == (32, 48, 3)


def test_damaged_inside() -> None:
    content = bytearray(encoded(textured(), 'PNG'))
    content[len(content) // 2] ^= 0xFF
    with pytest.raises(ImageReadError, match='damaged'):
        read_image(bytes(content))


@pytest.mark.parametrize('content, reason', [
    (b'', 'empty'),
    (b'<!DOCTYPE html><html>404</html>', 'HTML page'),
    (b'version https://git-lfs.github.com/spec/v1\noid sha256:0', 'Git-LFS pointer'),
    (b'just some words\n', 'text file'),
    (b'{"a": 1}', 'JSON'),
    (b'\x00\x00\x00\x18ftypmp42' + bytes(600), 'video'),
    (b'\x1a\x45\xdf\xa3' + bytes(600), 'video'),
    (b'RIFF\x00\x00\x00\x00AVI LIST', 'video'),
    (b'\x00\x00\x00\x18ftypheic' + bytes(600), 'HEIC'),
    (bytes(4000), 'zero bytes'),
    (bytes(range(1, 256)) * 4, 'unknown kind'),
    (b'%PDF-1.7', 'PDF'),
])
def test_what_is_no_picture_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / 'photo.jpg'
    path.write_bytes(content)
    for read in (read_image, read_labels, read_raster):
        with pytest.raises(ImageReadError, match=reason) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ImageReadError, match='No such file'):
        read_image(tmp_path / 'none.png')
    with pytest.raises(ImageReadError, match='is a folder'):
        read_image(tmp_path)


@pytest.mark.parametrize('kind', ['JPEG', 'PNG', 'BMP'])
def test_pixel_limit(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(image_errors, 'MAX_PIXELS', 100)
    with pytest.raises(ImageReadError, match='limit of 100'):
        read_image(encoded(Image.new('RGB', (20, 20)), kind))


def test_declared_size_beyond_memory_is_refused() -> None:
    content = bytearray(encoded(Image.new('RGB', (20, 20)), 'PNG'))
    content[16:24] = (60000).to_bytes(4, 'big') * 2
    with pytest.raises(ImageReadError, match='limit'):
        read_image(bytes(content))
    bitmap = bytearray(encoded(Image.new('RGB', (20, 20)), 'BMP'))
    bitmap[18:26] = (60000).to_bytes(4, 'little') * 2
    with pytest.raises(ImageReadError, match='limit'):
        read_image(bytes(bitmap))


@pytest.mark.parametrize('make', [
    lambda labels: Image.fromarray(labels),
    lambda labels: _palette(labels),
    lambda labels: Image.fromarray(np.dstack([labels] * 3)),
    lambda labels: Image.fromarray(np.dstack([labels, np.full_like(labels, 255)])),
    lambda labels: Image.fromarray(labels.astype(np.uint16)),
])
def test_labels_keep_their_values(make: Callable[[np.ndarray], Image.Image]) -> None:
    labels = np.array([[0, 1, 28], [255, 5, 14]], np.uint8)
    got = read_labels(encoded(make(labels), 'PNG'))
    assert got.dtype.kind in 'iu' and np.array_equal(got, labels)


def _palette(labels: np.ndarray) -> Image.Image:
    image = Image.fromarray(labels).convert('L')
    image = Image.frombytes('P', image.size, image.tobytes())
    image.putpalette(np.random.default_rng(1).integers(0, 255, 768, dtype=np.uint8).tobytes())
    return image


def test_colour_and_lossy_labels_are_refused() -> None:
    with pytest.raises(ImageReadError, match='one integer a pixel'):
        read_labels(encoded(Image.fromarray(quadrants()), 'PNG'))
    with pytest.raises(ImageReadError, match='JPEG'):
        read_labels(encoded(Image.new('L', (8, 8)), 'JPEG'))


def test_raster_keeps_16_bits() -> None:
    depth = np.array([[1, 2000, 65535]], np.uint16)
    assert np.array_equal(read_raster(encoded(Image.fromarray(depth), 'PNG')), depth)
    colour = np.dstack([depth, depth // 2, depth // 3])
    content = cv2.imencode('.png', np.ascontiguousarray(colour[..., ::-1]))[1].tobytes()
    assert np.array_equal(read_raster(content), colour)


@pytest.mark.parametrize('name', ['a.PNG', 'with space.b.png', '写真.png', 'deep/new/folder/c.png'])
def test_write_and_read(tmp_path: Path, name: str) -> None:
    image = np.ascontiguousarray(quadrants()[..., ::-1])
    write_image(tmp_path / name, image)
    assert np.array_equal(read_image(tmp_path / name), image)


def test_write_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r'a\.xyz'):
        write_image(tmp_path / 'a.xyz', quadrants())
    with pytest.raises(ValueError, match='float64'):
        write_image(tmp_path / 'a.png', np.zeros((4, 4, 5)))
    assert not os.listdir(tmp_path)


def test_what_may_never_end_or_fill_memory_is_not_read(tmp_path: Path) -> None:
    if hasattr(os, 'mkfifo'):
        os.mkfifo(tmp_path / 'pipe.jpg')
        with pytest.raises(ImageReadError, match='pipe.jpg: is no regular file'):
            read_image(tmp_path / 'pipe.jpg')
    with (tmp_path / 'film.jpg').open('wb') as file:
        file.truncate(image_io.MAX_BYTES + 1)  # a hole: it takes no room on most file systems
    with pytest.raises(ImageReadError, match='film.jpg: .* bytes are more than the limit'):
        read_image(tmp_path / 'film.jpg')


def test_colours_of_sixteen_bits_and_floats_in_a_tiff(tmp_path: Path) -> None:
    values = np.arange(6 * 4 * 3, dtype=np.uint16).reshape(6, 4, 3) * 900
    for name, bgr in (('deep', values), ('float', values.astype(np.float32) / 65535)):
        cv2.imwrite(str(tmp_path / f'{name}.tif'), bgr)
        stored = read_raster(tmp_path / f'{name}.tif')
        assert stored.dtype == bgr.dtype
        np.testing.assert_array_equal(stored, bgr[..., ::-1])
    assert abs(read_image(tmp_path / 'deep.tif').astype(int) - values // 257).max() <= 1
    with pytest.raises(ImageReadError, match='float.tif: .*8 or 16 bits'):
        read_image(tmp_path / 'float.tif')


def test_whole_numbers_of_32_bits_have_no_fixed_white() -> None:
    content = encoded(Image.fromarray(np.full((4, 4), 200, np.int32)), 'TIFF')
    assert read_raster(content).max() == 200
    with pytest.raises(ImageReadError, match='more than 16 bits'):
        read_image(content)


@pytest.mark.parametrize('kind, mode', [('JPEG', 'RGB'), ('JPEG', 'CMYK'), ('WEBP', 'RGB')])
def test_an_unreadable_exif_block_is_passed_over(kind: str, mode: str) -> None:
    content = encoded(Image.new(mode, (8, 6)), kind, exif=b'Exif\x00\x00garbage!!!!!!')
    assert read_image(content).shape == (6, 8, 3)


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('kind, mode', [
    ('JPEG', 'RGB'), ('JPEG', 'CMYK'), ('PNG', 'RGBA'), ('PNG', 'P'), ('TIFF', 'RGB'), ('TIFF', 'LAB'), ('TIFF', 'F'),
    ('GIF', 'P'), ('WEBP', 'RGB'), ('BMP', 'RGB'), ('JPEG2000', 'RGB')])
def test_damage_anywhere_is_read_or_refused(kind: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_errors, 'MAX_PIXELS', 100_000)  # damaged sizes take time otherwise
    picture = Image.fromarray(quadrants(12, 16))
    content = encoded(picture if mode == 'RGB' else picture.convert('L').convert('F') if mode == 'F' else
                      picture.convert(mode), kind)
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(0, min(len(content), int(rng.choice([64, 600, len(content)]))), 3):
            damaged[place] = rng.integers(0, 256)
        for read in (read_image, read_raster, read_labels):
            try:
                read(bytes(damaged))
            except ImageReadError:
                pass
