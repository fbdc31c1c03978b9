"""Colour transforms: right dtype and size, reproducible from NumPy's state, and doing what they are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sapiens2.datasets import DataError
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import write_image

STEPS = [
    dict(type='PhotometricDistortion'), dict(type='GaussianBlur', kernel_size=(3, 3), sigma_range=(0.5, 2)),
    dict(type='GaussianNoise', var_range=(5, 20)), dict(type='Solarize', threshold=128), dict(type='DownUpSample'),
    dict(type='BoxBlur'), dict(type='MedianBlur'), dict(type='CoarseDropout')]


def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)


def apply(image: np.ndarray, seed: int = 0, **step) -> np.ndarray:
    np.random.seed(seed)
    return TRANSFORMS.build(step).transform({'img': image})['img']


@pytest.mark.parametrize('step', STEPS, ids=lambda step: step['type'])
def test_contract(step: dict) -> None:
    image = picture()
    first, again, other = apply(image, 1, **step), apply(image, 1, **step), apply(image, 2, **step)
    assert first.shape == image.shape and first.dtype == np.uint8
    assert np.array_equal(first, again) and np.array_equal(image, picture())
    assert not np.array_equal(first, image)
    if step['type'] != 'Solarize':
        assert any(not np.array_equal(first, apply(image, seed, **step)) for seed in range(2, 6)), other
    assert np.array_equal(apply(image, **step, prob=0), image)


def test_single_pixel() -> None:
    for step in STEPS:
        assert apply(np.full((1, 1, 3), 9, np.uint8), **step).shape == (1, 1, 3)


def test_solarize_inverts_bright_values() -> None:
    assert apply(np.array([[[0, 127, 128]]], np.uint8), type='Solarize').tolist() == [[[0, 127, 127]]]


def test_noise_has_the_variance_and_no_bias() -> None:
    noise = apply(np.full((200, 200, 3), 128, np.uint8), type='GaussianNoise', var_range=(16, 16)).astype(float) - 128
    assert np.abs(noise.var(axis=(0, 1)) - 16).max() < 0.5 and np.abs(noise.mean(axis=(0, 1))).max() < 0.06
    apart = [noise[:, 1:] * noise[:, :-1], noise[1:] * noise[:-1], noise[..., 1:] * noise[..., :-1]]
    assert max(abs(product.mean()) for product in apart) < 0.2  # neighbours and channels know nothing of each other
    assert 0.25 < (np.abs(noise) > 4).mean() < 0.27 and 10 < np.abs(noise).max() <= 12


def test_distortion_without_effect_is_identity_but_for_rounding() -> None:
    step = dict(type='PhotometricDistortion', brightness_delta=0, contrast_range=(1, 1), saturation_range=(1, 1),
                hue_delta=0)
    for seed in range(10):
        assert np.array_equal(apply(picture(), seed, **step), picture())


def test_dropout_paints_a_rectangle_of_the_right_size() -> None:
    hole = (apply(np.full((100, 100, 3), 255, np.uint8), type='CoarseDropout') == 0).all(axis=-1)
    height, width = hole.any(axis=1).sum(), hole.any(axis=0).sum()
    assert hole.sum() == height * width and 20 <= height <= 40 and 20 <= width <= 40


def test_background(tmp_path: Path) -> None:
    write_image(tmp_path / 'sub' / 'b.png', np.full((10, 50, 3), 200, np.uint8))
    step = TRANSFORMS.build(dict(type='RandomBackground', background_root=tmp_path, prob=1))
    labels = np.zeros((40, 30), np.uint8)
    labels[5:20, 5:9] = 3
    labels[0, 0] = 255
    results = step.transform({'img': picture(), 'sem_seg': labels})
    assert np.array_equal(results['img'][labels > 0], picture()[labels > 0])
    assert (results['img'][labels == 0] == 200).all()
    mask = 1 - (labels > 0).astype(np.uint8)
    results = step.transform({'img': picture(), 'sem_seg': labels, 'mask': mask})
    assert (results['img'][mask == 0] == 200).all() and np.array_equal(results['img'][mask == 1], picture()[mask == 1])
    kept = step.transform({'img': picture(), 'sem_seg': labels, 'in_the_wild': True})
    assert np.array_equal(kept['img'], picture())
    with pytest.raises(FileNotFoundError, match='nowhere'):
        TRANSFORMS.build(dict(type='RandomBackground', background_root=str(tmp_path / 'nowhere')))
    off = TRANSFORMS.build(dict(type='RandomBackground', prob=1)).transform({'img': picture(), 'sem_seg': labels})
    assert np.array_equal(off['img'], picture())
    with pytest.raises(DataError, match='p.jpg: RandomBackground needs mask or sem_seg'):
        step.transform({'img': picture(), 'sample_id': 'p.jpg'})
