"""What the encoder sees of a picture. Needs transformers, of any version that has image processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip('transformers', reason='the image processor is one of transformers')

from projects.xtuner_llava.image_processor import Sapiens2ImageProcessor  # noqa: E402
from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import MEAN, STD  # noqa: E402
from sapiens2.utils.image_io import ImageReadError  # noqa: E402

SIZE = (64, 48)
BLACK = (0 - np.array(MEAN)) / STD


def pixels(image: object, **options: object) -> np.ndarray:
    return Sapiens2ImageProcessor(size=SIZE, **options).preprocess(image, return_tensors='np')['pixel_values']


def test_a_picture_keeps_its_shape_between_black_borders() -> None:
    red = np.zeros((30, 60, 3), np.uint8)
    red[..., 0] = 200
    seen = pixels(red)[0]
    assert seen.shape == (3, *SIZE) and seen.dtype == np.float32
    # 60 x 30 becomes 48 x 24, with 20 rows of border above and below.
    np.testing.assert_allclose(seen[:, 19, 10], BLACK, rtol=1e-5)
    np.testing.assert_allclose(seen[:, 44, 10], BLACK, rtol=1e-5)
    expected = (np.array([200, 0, 0]) - MEAN) / STD
    for row in (20, 43):
        np.testing.assert_allclose(seen[:, row, 10], expected, rtol=1e-5)


def test_arrays_pictures_and_files_are_the_same(tmp_path: Path) -> None:
    array = np.random.default_rng(0).integers(0, 255, (40, 31, 3), dtype=np.uint8)
    Image.fromarray(array).save(tmp_path / 'a.png')
    seen = pixels([array, Image.fromarray(array), tmp_path / 'a.png'])
    assert seen.shape == (3, 3, *SIZE)
    assert (seen == seen[0]).all()


def test_pictures_stand_upright(tmp_path: Path) -> None:
    array = np.zeros((20, 40, 3), np.uint8)
    array[:, :20] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(array).save(tmp_path / 'turned.png', exif=exif)
    opened = Image.open(tmp_path / 'turned.png').convert('RGB')  # as XTuner's data set does
    upright = pixels(np.rot90(array, -1).copy())
    np.testing.assert_array_equal(pixels(opened), upright)
    np.testing.assert_array_equal(pixels(tmp_path / 'turned.png'), upright)


def test_it_is_saved_and_found_again(tmp_path: Path) -> None:
    Sapiens2ImageProcessor(size=SIZE, image_mean=[0.5, 0.5, 0.5]).save_pretrained(tmp_path)
    found = Sapiens2ImageProcessor.from_pretrained(tmp_path)
    assert found.size == {'height': 64, 'width': 48} and found.image_mean == [0.5, 0.5, 0.5]


def test_what_cannot_be_prepared_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='multiples of 16'):
        Sapiens2ImageProcessor(size=(100, 48))
    with pytest.raises(ValueError, match='uint8 RGB'):
        pixels(np.zeros((40, 30), np.uint8))
    with pytest.raises(ImageReadError, match='missing.jpg'):
        pixels(tmp_path / 'missing.jpg')
