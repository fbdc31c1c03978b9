"""Geometric steps are done at once, when a raster is looked at, and cost and blur no more than one of them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from sapiens2.datasets import DataError
from sapiens2.datasets.transforms.lazy import LazyResults
from sapiens2.datasets.transforms.view import View
from sapiens2.registry import TRANSFORMS

SCALE = dict(type='RandomScale', ratio_range=(0.5, 0.5))
CROP = dict(type='RandomAreaCrop', area_range=(0.5, 0.6))
FLIP = dict(type='RandomFlip', prob=1)
ROTATE = dict(type='RandomRotate', degree=30, prob=1)
RESIZE = dict(type='Resize', size=(64, 48))


def sample() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        'sample_id': 'a.jpg', 'img': rng.integers(0, 256, (96, 80, 3), dtype=np.uint8), 'flip': False,
        'sem_seg': rng.integers(0, 29, (96, 80), dtype=np.uint8), 'dataset_meta': {'flip_pairs': [[5, 14]]},
        'normal': rng.standard_normal((96, 80, 3)).astype(np.float32), 'mask': np.ones((96, 80), np.uint8)}


def run(results: Any, *steps: dict) -> Any:
    np.random.seed(3)
    for step in steps:
        results = TRANSFORMS.build(step).transform(results)
    return results


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the rasters that were resampled."""
    names: list[str] = []
    original = View.sample

    def counting(self: View, name: str, raster: np.ndarray) -> np.ndarray:
        names.append(name)
        return original(self, name, raster)

    monkeypatch.setattr(View, 'sample', counting)
    return names


def test_each_raster_is_sampled_once(sampled: list[str]) -> None:
    results = run(sample(), SCALE, CROP, FLIP, ROTATE, FLIP, RESIZE, dict(type='DownUpSample'))
    assert sampled == [] and results['img_shape'] == (64, 48)
    packed = run(results, dict(type='PackInputs'))
    assert sorted(sampled) == ['img', 'mask', 'normal', 'sem_seg']
    assert packed['inputs'].shape == (3, 64, 48)


def test_two_rotations_fill_the_corners_twice(sampled: list[str]) -> None:
    results = run(sample(), ROTATE, ROTATE, RESIZE)
    assert results['img'].shape == (64, 48, 3) and sampled.count('img') == 2


def joined(results: Any, more: Any) -> np.ndarray:
    results |= more
    return results['sem_seg']


@pytest.mark.parametrize('look', [
    lambda results: results['sem_seg'], lambda results: results.get('sem_seg'),
    lambda results: dict(results)['sem_seg'], lambda results: {**results}['sem_seg'],
    lambda results: dict(results.items())['sem_seg'], lambda results: copy.deepcopy(results)['sem_seg'],
    lambda results: results.pop('sem_seg'), lambda results: results.copy()['sem_seg'],
    lambda results: copy.copy(results)['sem_seg'], lambda results: results.setdefault('sem_seg'),
    lambda results: (results | {'flip': True})['sem_seg'], lambda results: ({'flip': True} | results)['sem_seg'],
    lambda results: (LazyResults(flip=True) | results)['sem_seg'], lambda results: joined({'flip': True}, results),
    lambda results: joined(LazyResults(flip=True), results), lambda results: joined(results, {'flip': True})])
def test_however_a_raster_is_read_it_is_in_its_place(look: Any) -> None:
    before = sample()
    swapped = np.array([*range(5), 14, *range(6, 14), 5, *range(15, 256)], np.uint8)
    expected = cv2.LUT(cv2.flip(before['sem_seg'], 1), swapped)
    np.testing.assert_array_equal(look(run(before, FLIP)), expected)


def test_a_raster_that_is_replaced_does_not_move_again() -> None:
    results = run(sample(), FLIP)
    painted = np.arange(96 * 80 * 3).reshape(96, 80, 3).astype(np.uint8)
    results['img'] = painted
    assert results['img'] is painted
    np.testing.assert_array_equal(results['mask'], 1)
    results = run(sample(), FLIP)
    results.update(img=painted)
    assert results['img'] is painted
    results = run(sample(), FLIP)
    results |= {'img': painted}
    assert results['img'] is painted and (run(sample(), FLIP) | {'img': painted})['img'] is painted


def test_what_is_given_is_not_changed() -> None:
    before, kept = sample(), sample()
    run(before, SCALE, CROP, FLIP, ROTATE, RESIZE, dict(type='PhotometricDistortion'), dict(type='CoarseDropout'),
        dict(type='GaussianNoise'), dict(type='PackInputs'))
    run(before, dict(type='PackInputs'))
    assert before.keys() == kept.keys()
    for name, value in kept.items():
        assert np.array_equal(before[name], value), name


def test_steps_of_other_libraries_find_the_moved_picture() -> None:
    results = run(sample(), FLIP, dict(type='mmcv.CenterCrop', crop_size=(20, 30)))
    np.testing.assert_array_equal(results['img'], sample()['img'][33:63, 30:50][:, ::-1])


def test_one_resize_is_that_of_opencv() -> None:
    image = sample()['img']
    for size, flag in (((40, 30), cv2.INTER_AREA), ((200, 100), cv2.INTER_CUBIC), ((200, 30), cv2.INTER_CUBIC)):
        results = run({'img': image}, dict(type='Resize', size=size))
        np.testing.assert_array_equal(results['img'], cv2.resize(image, size[::-1], interpolation=flag))
    results = LazyResults.of({'img': image})
    results.look(results.view.resized((50, 40), cv2.INTER_LINEAR))
    np.testing.assert_array_equal(results['img'], cv2.resize(image, (40, 50), interpolation=cv2.INTER_LINEAR))


def smooth_picture() -> np.ndarray:
    return cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (160, 120, 3), dtype=np.uint8), (0, 0), 1.2)


def settled(results: Any, *steps: dict) -> Any:
    """The steps one by one, each resampled."""
    for step in steps:
        results = LazyResults.of(run(results, step)).settle()
    return results


@pytest.mark.parametrize('factor', [0.3, 0.6])
@pytest.mark.parametrize('last', [[RESIZE], [dict(type='Resize', size=(150, 130))], [FLIP, RESIZE]])
def test_detail_lost_on_the_way_stays_lost(factor: float, last: list[dict]) -> None:
    """The picture is as blurred as if each step had resampled it; made smaller less than at the end, it is not."""
    scale = dict(type='RandomScale', ratio_range=(factor, factor))
    got, expected = run({'img': smooth_picture()}, scale, *last), settled({'img': smooth_picture()}, scale, *last)
    direct = run({'img': smooth_picture()}, *last)
    apart = np.abs(got['img'].astype(int) - expected['img']).mean()
    lost = np.abs(direct['img'].astype(int) - expected['img']).mean()
    shows = factor < last[-1]['size'][0] / 160 and factor < last[-1]['size'][1] / 120
    assert apart < (0.35 * lost if shows else 2)
    if not shows:
        np.testing.assert_array_equal(got['img'], direct['img'])


def test_detail_is_lost_before_a_rotation_too() -> None:
    steps = [SCALE, ROTATE, dict(type='Resize', size=(160, 120))]
    got, expected = run({'img': smooth_picture()}, *steps), settled({'img': smooth_picture()}, SCALE)
    expected = run(expected, *steps[1:])
    direct = run({'img': smooth_picture()}, *steps[1:])
    inner = (slice(50, 110), slice(40, 80))
    assert got['img'][inner].std() == pytest.approx(expected['img'][inner].std(), rel=0.15)
    assert direct['img'][inner].std() > 1.2 * got['img'][inner].std()


def test_down_up_sampling_blurs_the_picture_alone() -> None:
    before = sample()
    after = run(before, dict(type='DownUpSample', scale_range=(0.2, 0.2)))
    assert after['img'].shape == before['img'].shape and after['img'].std() < 0.5 * before['img'].std()
    for name in ('sem_seg', 'normal', 'mask'):
        np.testing.assert_array_equal(after[name], before[name])


def test_a_crop_after_a_scale_moves_to_whole_pixels_with_its_camera() -> None:
    camera = np.array([[90, 0, 40], [0, 90, 48], [0, 0, 1]], np.float32)
    rows, columns = np.mgrid[:96, :80].astype(np.float32)
    place = np.stack([columns, rows, rows * 0], axis=-1)
    for seed in range(5):
        results = {
            'img': sample()['img'], 'albedo': place, 'K': camera, 'keypoints': np.array([[[33, 47]]], np.float32)}
        np.random.seed(seed)
        for step in (dict(type='RandomScale', ratio_range=(1.1, 1.9)), CROP, CROP):
            results = TRANSFORMS.build(step).transform(results)
        height, width = results['img_shape']
        inner = results['albedo'][height // 2, width // 2, :2]
        ray = np.linalg.inv(results['K']) @ [width // 2, height // 2, 1]
        np.testing.assert_allclose((camera @ ray)[:2], inner, atol=0.02)
        point = np.linalg.inv(results['K']) @ [*results['keypoints'][0, 0], 1]
        np.testing.assert_allclose((camera @ point)[:2], [33, 47], atol=1e-3)


@pytest.mark.parametrize('change, message', [
    (dict(mask=np.ones((95, 80), np.uint8)),
     r'a.jpg: geometric steps cannot move mask of height, width \(95, 80\): the picture has \(96, 80\)'),
    (dict(normal=np.zeros((96, 80, 3))), r'a.jpg: .* normal of shape \(96, 80, 3\) and float64: .* of float32'),
    (dict(sem_seg=np.zeros((96, 80, 1), np.uint8)), r'a.jpg: .* sem_seg .*: it must be .* \(H, W\) of uint8'),
    (dict(depth=[1.0]), 'a.jpg: .* depth of type list'),
    (dict(img=np.zeros((96, 80), np.uint8)), r'a.jpg: Resize cannot use img of shape \(96, 80\)'),
])
def test_wrong_fields_are_named(change: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run({**sample(), **change}, RESIZE)


@pytest.mark.parametrize('step, lacks, remedy', [
    (dict(type='Resize', size=(4, 4)), 'img', 'start the pipeline with LoadImage'),
    (dict(type='Solarize'), 'img', 'start the pipeline with LoadImage'),
    (dict(type='PackInputs'), 'img', 'start the pipeline with LoadImage'),
    (dict(type='RandomCrop', size=(8, 8), cat_max_ratio=0.75), 'sem_seg', 'name the folder of sem_seg in data_prefix'),
    (dict(type='GetBBoxCenterScale'), 'bboxes', 'CocoPoseDataset'),
    (dict(type='LoadFields'), 'ori_shape', 'put LoadImage before it'),
    (dict(type='RandomHalfBody'), 'bbox_center', 'put GetBBoxCenterScale before it'),
    (dict(type='RandomBBoxTransform'), 'bbox_center', 'put GetBBoxCenterScale before it'),
    (dict(type='TopdownAffine', input_size=(48, 64)), 'bbox_center', 'put GetBBoxCenterScale before it'),
    (dict(type='GenerateHeatmaps', codec=dict(type='UDPHeatmap', input_size=(48, 64), heatmap_size=(12, 16), sigma=2)),
     'input_keypoints', 'put TopdownAffine before it'),
], ids=lambda value: value.get('type') if isinstance(value, dict) else None)
def test_missing_fields_are_named(step: dict, lacks: str, remedy: str) -> None:
    results = {name: value for name, value in sample().items() if name not in (lacks, 'sem_seg')}
    with pytest.raises(DataError, match=f'a.jpg: {step["type"]} needs {lacks}.*{remedy}'):
        run(results, step)


def test_loading_steps_say_what_they_need() -> None:
    with pytest.raises(DataError, match='LoadImage needs img_path.*use a data set'):
        run({}, dict(type='LoadImage'))
    picture = {'img': sample()['img']}
    with pytest.raises(DataError, match='picture in memory: LoadFields needs field_paths.*such as DenseFolderDataset'):
        run(picture, dict(type='LoadImage'), dict(type='LoadFields'))
    with pytest.raises(DataError, match='picture in memory: LoadFields needs label_table'):
        run({**picture, 'field_paths': {'sem_seg': 'a.png'}}, dict(type='LoadImage'), dict(type='LoadFields'))
    with pytest.raises(DataError, match=r'picture in memory: the annotation says height, width \(95, 80\)'):
        run({**picture, 'height': 95, 'width': 80}, dict(type='LoadImage'))


def test_pictures_in_memory_may_have_fields_in_files(tmp_path: Path) -> None:
    np.save(tmp_path / 'depth.npy', np.ones((95, 80), np.float32))
    results = {'img': sample()['img'], 'field_paths': {'depth': str(tmp_path / 'depth.npy')}}
    with pytest.raises(DataError, match=r'depth.npy: depth has height, width \(95, 80\), picture in memory has'):
        run(dict(results), dict(type='LoadImage'), dict(type='LoadFields'))
    np.save(tmp_path / 'depth.npy', np.full((96, 80), 2, np.float32))
    assert run(dict(results), dict(type='LoadImage'), dict(type='LoadFields'))['mask'].all()
