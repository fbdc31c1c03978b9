"""Geometry: fields move together, and transforming then computing equals computing then transforming."""

from __future__ import annotations

import copy
from typing import Any

import cv2
import numpy as np
import pytest

from sapiens2.datasets import DataError
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.pinhole import unproject

HEIGHT, WIDTH = 60, 44


def apply(results: Results, **step: Any) -> Results:
    return TRANSFORMS.build(step).transform(results)


def scene() -> Results:
    """A picture whose fields are linear in the pixel's place, with a camera that is not centred."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    normal = np.stack([columns / WIDTH - 0.3, rows / HEIGHT - 0.6, np.full_like(rows, -1)], axis=-1)
    return {
        'img': np.stack([columns * 5, rows * 4, columns + rows], axis=-1).astype(np.uint8),
        'sem_seg': np.where(columns < 20, 5, 14).astype(np.uint8),
        'normal': normal / np.linalg.norm(normal, axis=-1, keepdims=True),
        'depth': 2 + 0.01 * rows + 0.02 * columns,
        'albedo': np.stack([columns / WIDTH, rows / HEIGHT, columns * 0 + 0.5], axis=-1).astype(np.float32),
        'mask': (rows > 10).astype(np.uint8),
        'K': np.array([[50, 0, 20], [0, 55, 33], [0, 0, 1]], np.float32),
        'keypoints': np.array([[[10, 20], [30, 40]]], np.float32),
        'keypoints_visible': np.array([[1, 0]], np.float32),
        'bboxes': np.array([[5, 10, 30, 50]], np.float32),
        'dataset_meta': {'flip_pairs': load_metainfo('seg29')['flip_pairs'], 'flip_indices': [1, 0]},
        'flip': False,
        'sample_id': 'scene',
        'ori_shape': (HEIGHT, WIDTH),
    }


STEPS = [
    dict(type='RandomFlip', prob=1),
    dict(type='RandomScale', ratio_range=(1.7, 1.7)),
    dict(type='RandomScale', ratio_range=(0.6, 0.6)),
    dict(type='RandomAreaCrop'),
    dict(type='RandomCrop', size=(30, 90)),
    dict(type='Resize', size=(50, 70)),
    dict(type='Resize', size=(50, 70), keep_ratio=True),
    dict(type='RandomResize', size=(80, 80), ratio_range=(0.7, 1.4)),
    dict(type='RandomResize', size=(80, 80), ratio_range=(0.7, 1.4), keep_ratio=False),
    dict(type='RandomRotate', degree=40, prob=1),
]
IDS = [f'{number}-{step["type"]}' for number, step in enumerate(STEPS)]


@pytest.fixture(autouse=True)
def _seed() -> None:
    np.random.seed(7)


@pytest.mark.parametrize('step', STEPS, ids=IDS)
def test_shapes_stay_together(step: dict) -> None:
    results = apply(scene(), **step)
    shapes = {name: results[name].shape[:2] for name in ('img', 'sem_seg', 'normal', 'depth', 'albedo', 'mask')}
    assert set(shapes.values()) == {results['img_shape']}, shapes
    assert results['K'].dtype == np.float32 and results['keypoints'].dtype == np.float32
    assert set(np.unique(results['sem_seg'])) <= {5, 14, 255} and set(np.unique(results['mask'])) <= {0, 1}


@pytest.mark.parametrize('step', STEPS, ids=IDS)
def test_rays_and_depth_move_with_the_picture(step: dict) -> None:
    """The ray of each pixel of the moved picture is, but for the turning of the camera, that of the pixel it was."""
    before = scene()
    after = apply(copy.deepcopy(before), **step)
    place = after['albedo'][..., :2] * [WIDTH, HEIGHT]  # albedo holds where each pixel was
    inside = (place >= 2) & (place <= [WIDTH - 3, HEIGHT - 3])
    inner = (after['albedo'][..., 2] > 0.4999) & inside.all(axis=-1)
    rays = unproject(np.ones(after['img_shape'], np.float32), after['K'])[inner]
    expected = np.insert(place[inner], 2, 1, axis=1) @ np.linalg.inv(before['K']).T
    assert len(rays) > 100
    np.testing.assert_allclose(np.linalg.norm(rays, axis=-1), np.linalg.norm(expected, axis=-1), atol=2e-3)
    # Depth is taken from the nearest pixel, at most one to either side.
    depth = 2 + 0.01 * place[inner][:, 1] + 0.02 * place[inner][:, 0]
    np.testing.assert_allclose(after['depth'][inner], depth, atol=0.03)


@pytest.mark.parametrize('step', STEPS, ids=IDS)
def test_key_points_stay_on_the_picture(step: dict) -> None:
    """Albedo holds each pixel's place, so what it says at a moved key point is the place where the point was."""
    before = scene()
    after = apply(copy.deepcopy(before), **step)
    points, old = after['keypoints'][0], before['keypoints'][0]
    old = old[::-1] if step['type'] == 'RandomFlip' else old
    map_x, map_y = points[:, :1].astype(np.float32), points[:, 1:].astype(np.float32)
    inside = (points >= 1).all(axis=1) & (points < np.array(after['img_shape'])[::-1] - 2).all(axis=1)
    albedo = cv2.remap(after['albedo'], map_x, map_y, cv2.INTER_LINEAR)[:, 0, :2]
    np.testing.assert_allclose((albedo * [WIDTH, HEIGHT])[inside], old[inside], atol=0.1)
    x1, y1, x2, y2 = after['bboxes'][0]
    assert ((points[inside] >= [x1, y1]) & (points[inside] <= [x2, y2])).all()


@pytest.mark.parametrize('step', STEPS, ids=IDS)
def test_labels_and_pictures_agree(step: dict) -> None:
    """The edge between the classes lies where the picture says it does, to the pixel."""
    after = apply(scene(), **step)
    column = after['albedo'][..., 0] * WIDTH
    inside = after['albedo'][..., 2] > 0.49
    left = (after['sem_seg'] == 14 if step['type'] == 'RandomFlip' else after['sem_seg'] == 5)
    width_of_pixel = 1.5 * WIDTH / min(after['img_shape'][1], WIDTH)
    clear = inside & (np.abs(column - 19.5) > width_of_pixel)
    assert (left == (column < 19.5))[clear].all() and clear.any()


def test_flip_twice_is_identity() -> None:
    before = scene()
    once = apply(copy.deepcopy(before), type='RandomFlip', prob=1)
    assert once['flip'] and not np.array_equal(once['img'], before['img'])
    assert once['keypoints_visible'].tolist() == [[0, 1]]
    assert once['keypoints'].tolist() == [[[13, 40], [33, 20]]]
    assert once['bboxes'].tolist() == [[13, 10, 38, 50]]
    assert once['sem_seg'][0, 0] == 5 and once['sem_seg'][0, -1] == 14  # mirrored, and the classes swapped
    assert once['normal'][3, 4, 0] == -before['normal'][3, WIDTH - 5, 0]
    twice = apply(once, type='RandomFlip', prob=1)
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(twice[name], value, err_msg=name)
    assert not twice['flip']


def test_flip_mirrors_the_point_map() -> None:
    before = scene()
    points = unproject(before['depth'], before['K'])
    after = apply(before, type='RandomFlip', prob=1)
    np.testing.assert_allclose(unproject(after['depth'], after['K']), points[:, ::-1] * [-1, 1, 1], atol=1e-5)


def test_rotation_turns_normals_and_points_alike() -> None:
    """Normals computed from the rotated point map are the rotated normals."""
    before = scene()
    points = unproject(before['depth'], before['K'])
    normal = np.cross(np.gradient(points, axis=1), np.gradient(points, axis=0))
    before['normal'] = (normal / np.linalg.norm(normal, axis=-1, keepdims=True)).astype(np.float32)
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    before['depth'] = before['depth'].astype(np.float32)
    after = apply(before, type='RandomRotate', degree=30, prob=1)
    valid = after['depth'] > 0
    inner = cv2.erode(valid.astype(np.uint8), np.ones((9, 9))) > 0
    inner[:4], inner[-4:], inner[:, :4], inner[:, -4:] = False, False, False, False
    smooth = cv2.GaussianBlur(unproject(after['depth'], after['K']), (5, 5), 2)
    got = np.cross(np.gradient(smooth, axis=1), np.gradient(smooth, axis=0))
    got /= np.maximum(np.linalg.norm(got, axis=-1, keepdims=True), 1e-9)
    cosine = (got * after['normal']).sum(axis=-1)[inner]
    assert inner.sum() > 300 and np.median(cosine) > 0.995


def test_rotate_fills_corners_as_told() -> None:
    results = apply(scene(), type='RandomRotate', degree=60, prob=1, seg_pad_val=0, pad_val=9)
    assert results['sem_seg'][0, 0] == 0 and (results['img'][0, 0] == 9).all() and results['mask'][0, 0] == 0


def test_padding_is_centred_and_labels_there_ignored() -> None:
    results = apply(scene(), type='Resize', size=(60, 51), keep_ratio=True, pad_val=7)
    assert results['padding'] == (3, 4, 0, 0)
    assert (results['img'][:, :3] == 7).all() and (results['img'][:, 47:] == 7).all()
    assert (results['sem_seg'][:, :3] == 255).all() and not results['mask'][:, 47:].any()
    np.testing.assert_array_equal(results['K'], [[50, 0, 23], [0, 55, 33], [0, 0, 1]])


@pytest.mark.parametrize('shape', [(1, 1), (3, 2000), (6000, 40), (40, 6000)])
@pytest.mark.parametrize('keep_ratio', [False, True])
def test_odd_sizes(shape: tuple[int, int], keep_ratio: bool) -> None:
    results = apply({'img': np.full((*shape, 3), 77, np.uint8)}, type='Resize', size=(64, 48), keep_ratio=keep_ratio)
    left, right, top, bottom = results['padding']
    assert results['img'].shape == (64, 48, 3)
    assert (results['img'][top:64 - bottom, left:48 - right] == 77).all() and left + right < 48 and top + bottom < 64


def test_crop_keeps_to_the_share_of_a_class() -> None:
    labels = np.zeros((100, 100), np.uint8)
    labels[:, 60:] = 3
    labels[:50] = 255
    for _ in range(20):
        results = {'img': np.zeros((100, 100, 3), np.uint8), 'sem_seg': labels.copy()}
        part = apply(results, type='RandomCrop', size=(100, 40), cat_max_ratio=0.75)['sem_seg']
        assert part.shape == (100, 40)
        share = (part == 0).sum() / (part != 255).sum()
        assert 0.25 < share < 0.75


def test_area_crop_ranges() -> None:
    for _ in range(30):
        height, width = apply({'img': np.zeros((200, 100, 3), np.uint8)}, type='RandomAreaCrop')['img'].shape[:2]
        assert 0.39 < height * width / 20000 <= 1 and 0.49 < width / height < 2.02


def test_probability() -> None:
    counts = sum(apply(scene(), type='RandomFlip', prob=0.3)['flip'] for _ in range(300))
    assert 50 < counts < 130
    with pytest.raises(ValueError, match='RandomFlip.prob'):
        TRANSFORMS.build(dict(type='RandomFlip', prob=1.5))


def test_flipping_points_without_knowing_sides_is_an_error() -> None:
    results = scene()
    results['dataset_meta'] = {}
    with pytest.raises(DataError, match='scene: RandomFlip needs flip_indices in the metainfo'):
        apply(results, type='RandomFlip', prob=1)
    results = {name: value for name, value in results.items() if name != 'keypoints'}
    with pytest.raises(DataError, match='scene: RandomFlip needs flip_pairs in the metainfo'):
        apply(results, type='RandomFlip', prob=1)
