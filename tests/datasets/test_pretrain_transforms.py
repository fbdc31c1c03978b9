"""Crops, masks and colours of pretraining."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from pretrain_sets import PIPELINE

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers import random_state
from sapiens2.datasets.transforms import (
    AugmentCrops, ColourJitter, MultiCrop, PackCrops, RandomExposure, RandomGrey, RandomTokenMask)
from sapiens2.datasets.transforms.multi_crop import Crops, resample
from sapiens2.utils.encoded_image import EncodedImage, reduction_for
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.utils.image_io import read_image
from sapiens2.utils.suggest import UnknownNameError


def smooth(height: int, width: int) -> np.ndarray:
    coarse = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)


def ramp(height: int, width: int) -> np.ndarray:
    """Blue grows along x, green along y."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = np.linspace(0, 255, width)
    image[..., 1] = np.linspace(0, 255, height)[:, None]
    return image


@pytest.mark.parametrize('size', [(64, 48), (48, 160), (128, 32)])
def test_mask_hides_exactly_the_ratio_and_all_tokens_alike(size: tuple[int, int]) -> None:
    crops = [np.zeros((*size, 3), np.uint8)] * 2
    step, tokens = RandomTokenMask(ratio=0.75, token_size=16), size[0] * size[1] // 256
    draws, counts, pairs = 4000, np.zeros(tokens), np.zeros((tokens, tokens))
    with random_state(0, 0):
        for _ in range(draws // 2):
            visible = step.transform({'global_crops': crops})['visible']
            assert visible.shape == (2, tokens - round(tokens * 0.75)) and visible.dtype == np.int64
            assert (np.diff(visible) > 0).all() and visible.min() >= 0 and visible.max() < tokens
            for row in visible:
                counts[row] += 1
                pairs[np.ix_(row, row)] += 1
    shown = visible.shape[1]
    expected = draws * shown / tokens
    # Counts of a sample without replacement: this sum has the chi-square distribution of tokens - 1 degrees.
    chi = ((counts - expected) ** 2).sum() / (expected * (1 - shown / tokens)) * (tokens - 1) / tokens
    assert chi < tokens - 1 + 4 * np.sqrt(2 * (tokens - 1))
    together = pairs[~np.eye(tokens, dtype=bool)]
    expected = draws * shown * (shown - 1) / (tokens * (tokens - 1))
    assert np.abs(together - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize('ratio', [0.1, 0.33, 0.5, 0.6, 0.9])
def test_mask_count_is_exact(ratio: float) -> None:
    visible = RandomTokenMask(ratio).transform({'global_crops': [np.zeros((80, 112, 3), np.uint8)]})['visible']
    assert visible.shape == (1, 35 - round(35 * ratio))


def test_mask_faults() -> None:
    crops = {'global_crops': [np.zeros((64, 40, 3), np.uint8)], 'sample_id': 'a.jpg'}
    with pytest.raises(DataError, match=r'a.jpg: RandomTokenMask cannot part crops of height, width \(64, 40\)'):
        RandomTokenMask().transform(crops)
    with pytest.raises(DataError, match='would hide all of the 1 tokens'):
        RandomTokenMask(0.9, 64).transform({'global_crops': [np.zeros((64, 64, 3), np.uint8)]})
    with pytest.raises(DataError, match='put MultiCrop before it'):
        RandomTokenMask().transform({})
    for ratio in (1.0, 'x', None, float('nan')):
        with pytest.raises(ValueError, match='RandomTokenMask.ratio'):
            RandomTokenMask(ratio)


@pytest.mark.parametrize('picture', [(425, 640), (640, 425), (30, 2000), (17, 13)])
def test_windows_lie_in_the_picture_and_have_the_shape_asked_for(picture: tuple[int, int]) -> None:
    crops = Crops((64, 48), 1, (0.3, 1.0), (0.8, 1.25))
    with random_state(0, 1):
        drawn = np.array([crops.draw(picture) for _ in range(500)])
    top, left, height, width = drawn.T
    assert (top >= 0).all() and (left >= 0).all()
    assert (top + height <= picture[0] + 1e-6).all() and (left + width <= picture[1] + 1e-6).all()
    stretch = width / height / 0.75
    assert 0.8 - 1e-9 <= stretch.min() < 0.85 and 1.17 < stretch.max() <= 1.25 + 1e-9
    largest = np.minimum(picture[0], picture[1] / (0.75 * stretch)) ** 2 * 0.75 * stretch
    share = height * width / largest
    assert 0.3 - 1e-9 <= share.min() < 0.35 and 0.95 < share.max() <= 1 + 1e-9


def test_crop_is_the_window_of_the_picture() -> None:
    image = ramp(300, 200)
    step = MultiCrop(dict(size=(60, 40), number=40, area=(0.2, 0.9)), flip_prob=0.5)
    with random_state(0, 2):
        crops = step.transform({'img': image})['global_crops']
    with random_state(0, 2):
        drawn = [(step.kinds['global_crops'].draw((300, 200)), np.random.random() < 0.5) for _ in crops]
    assert {mirrored for _, mirrored in drawn} == {True, False}
    for crop, ((top, left, height, width), mirrored) in zip(crops, drawn):
        crop = crop[:, ::-1] if mirrored else crop
        assert crop.shape == (60, 40, 3)
        # Centres of the outer pixels, within two grey levels (a pixel of the picture).
        np.testing.assert_allclose(crop[30, [0, -1], 0] / 255 * 199 + 0.5, [
            left + width / 80, left + width - width / 80], atol=2)
        np.testing.assert_allclose(crop[[0, -1], 20, 1] / 255 * 299 + 0.5, [
            top + height / 120, top + height - height / 120], atol=2.5)


def test_large_jpeg_is_decoded_smaller_without_a_visible_change() -> None:
    image = smooth(1600, 1200)
    content = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()
    encoded = EncodedImage(content, 'a.jpg')
    assert encoded.size == (1600, 1200)
    assert [encoded.decode(reduction).shape[:2] for reduction in (1, 2, 4, 8)] == [
        (1600, 1200), (800, 600), (400, 300), (200, 150)]
    step = MultiCrop(dict(size=(64, 48), area=(0.5, 1.0)), dict(size=(16, 16), number=2, area=(0.2, 0.5)))
    results = []
    for given in ({'img_bytes': content, 'img_path': 'a.jpg'}, {'img': read_image(content)}):
        with random_state(0, 3):
            results.append(step.transform(given))
    assert results[0]['ori_shape'] == (1600, 1200) and results[0]['img_shape'] == (64, 48)
    for name in ('global_crops', 'local_crops'):
        for one, other in zip(results[0][name], results[1][name]):
            # Whole pixels of the smaller picture: the window is off by up to four of the larger one.
            assert np.abs(one.astype(int) - other).mean() < 1.5


@pytest.mark.parametrize('ratio, reduction', [(0.5, 1), (1.99, 1), (2, 2), (3.9, 2), (4, 4), (100, 8)])
def test_reduction_leaves_a_pixel_for_each(ratio: float, reduction: int) -> None:
    assert reduction_for(ratio) == reduction


def jpeg_turned(image: np.ndarray, orientation: int) -> bytes:
    """A JPEG whose EXIF block says how it is to be turned."""
    content = cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()
    block = (b'Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01' + orientation.to_bytes(2, 'big')
             + b'\0' * 6)
    return content[:2] + b'\xff\xe1' + (len(block) + 2).to_bytes(2, 'big') + block + content[2:]


@pytest.mark.parametrize('orientation', range(1, 9))
def test_turned_jpeg_stands_upright_at_any_reduction(orientation: int) -> None:
    content = jpeg_turned(smooth(256, 160), orientation)
    whole, encoded = read_image(content), EncodedImage(content, 'a.jpg')
    assert encoded.size == whole.shape[:2]
    np.testing.assert_array_equal(encoded.decode(), whole)
    small = cv2.resize(whole, (whole.shape[1] // 2, whole.shape[0] // 2), interpolation=cv2.INTER_AREA)
    assert np.abs(encoded.decode(2).astype(int) - small).mean() < 1.5


def test_other_formats_and_damage() -> None:
    image = smooth(100, 80)
    png = EncodedImage(cv2.imencode('.png', image)[1].tobytes(), 'a.png')
    assert png.size == (100, 80) and np.array_equal(png.decode(2), image)
    noise = np.random.default_rng(0).integers(0, 256, (80, 80, 3), dtype=np.uint8)
    jpeg = cv2.imencode('.jpg', noise)[1].tobytes()
    encoded = EncodedImage(jpeg[:2000] + b'\0' * 300 + jpeg[2300:], 'a.jpg')
    for reduction in (1, 2, 8):
        with pytest.raises(ImageReadError, match='a.jpg: damaged'):
            encoded.decode(reduction)
    with pytest.raises(ImageReadError, match='b.jpg: cut off'):
        EncodedImage(jpeg[:500], 'b.jpg')


def test_resampling_keeps_the_mean_and_shows_no_aliases() -> None:
    stripes = np.zeros((256, 256, 3), np.uint8)
    stripes[:, ::2] = 255
    for size in ((64, 64), (100, 100), (150, 150)):
        assert np.abs(resample(stripes, size).astype(float) - 127.5).max() < 90  # not black and white stripes anew
    assert resample(stripes, (256, 256)) is not stripes


def test_steps_are_drawn_for_each_crop_and_kind() -> None:
    crops = {'global_crops': [np.full((8, 8, 3), 100, np.uint8)] * 2,
             'local_crops': [np.full((4, 4, 3), 100, np.uint8)] * 3}
    with random_state(0, 4):
        changed = AugmentCrops([dict(type='RandomExposure', stops=1.0)]).transform(
            {name: list(values) for name, values in crops.items()})
    levels = [crop[0, 0, 0] for name in crops for crop in changed[name]]
    assert len(set(levels)) == 5 and crops['global_crops'][0][0, 0, 0] == 100
    second = AugmentCrops([dict(type='Solarize', threshold=50)], global_crops=[1], local_crops=False).transform(
        {name: list(values) for name, values in crops.items()})
    assert [crop[0, 0, 0] for name in crops for crop in second[name]] == [100, 155, 100, 100, 100]


def test_exposure_keeps_the_ratios_of_light() -> None:
    colour = np.array([[[40, 80, 120]]], np.uint8)
    with random_state(0, 5):
        others = [RandomExposure(0.5).transform({'img': colour})['img'] for _ in range(20)]

    def light(image: np.ndarray) -> np.ndarray:
        return ((image / 255 + 0.055) / 1.055) ** 2.4

    gains = np.array([light(other)[0, 0] / light(colour)[0, 0] for other in others])
    assert np.ptp(gains, axis=1).max() < 0.06 and gains.min() > 2 ** -0.5 - 0.06 and gains.max() < 2 ** 0.5 + 0.06
    assert np.ptp(gains[:, 0]) > 0.3


def test_colours_of_the_strong_set() -> None:
    image = smooth(40, 30)
    grey = RandomGrey(1.0).transform({'img': image})['img']
    np.testing.assert_array_equal(grey, np.repeat(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[..., None], 3, axis=-1))
    np.testing.assert_array_equal(ColourJitter(0, 0, 0, 0, prob=1.0).transform({'img': grey})['img'], grey)
    with random_state(0, 6):
        means = [ColourJitter(0.4, 0, 0, 0, prob=1.0).transform({'img': image})['img'].mean() for _ in range(30)]
        spread = [ColourJitter(0, 0.4, 0, 0, prob=1.0).transform({'img': grey})['img'].std() for _ in range(30)]
    assert np.ptp(means) > 0.4 * image.mean() and np.ptp(spread) > 0.4 * grey.std()


def test_packed_crops_are_planes_of_the_crops() -> None:
    crops = [smooth(16, 32), smooth(16, 32)[:, ::-1]]
    packed = PackCrops().transform({'global_crops': crops, 'sample_id': 'a', 'img_shape': (16, 32)})
    assert list(packed['inputs']) == ['global_crops'] and packed['data_samples'].sample_id == 'a'
    for tensor, crop in zip(packed['inputs']['global_crops'], crops):
        np.testing.assert_array_equal(tensor.permute(1, 2, 0), crop)


@pytest.mark.parametrize('wrong, said', [
    (dict(size=(64,)), r'size must be \(H, W\)'), (dict(number=0), 'number must be at least 1'),
    (dict(area=(0.5, 1.5)), 'area must be two numbers'), (dict(stretch=(0, 1)), 'stretch must be two numbers'),
    (dict(size='a'), r'size must be \(H, W\)'), (dict(size=5), r'size must be \(H, W\)'),
    (dict(area=3), 'area must be two numbers'), (dict(stretch=('a', 'b')), 'stretch must be two numbers')])
def test_arguments_that_cannot_work(wrong: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        MultiCrop({'size': (64, 48), **wrong})


def test_unknown_argument_of_crops() -> None:
    with pytest.raises(UnknownNameError, match="MultiCrop.local_crops: .*'scale'"):
        MultiCrop(dict(size=(64, 48)), dict(size=(32, 32), scale=(0.1, 0.2)))
    assert [step['type'] for step in PIPELINE] == ['MultiCrop', 'AugmentCrops', 'RandomTokenMask', 'PackCrops']
