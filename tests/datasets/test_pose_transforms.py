"""From a person to the network input of pose estimation."""

from __future__ import annotations

import copy

import cv2
import numpy as np
import pytest

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.topdown import points_to_image

META = load_metainfo('coco')


def person() -> dict:
    """17 points in a line from head to foot, drawn as white dots."""
    points = np.stack([60 + 12 * np.sin(np.arange(17)), 20 + 8 * np.arange(17)], axis=1).astype(np.float32)
    image = np.zeros((180, 140, 3), np.uint8)
    for x, y in np.round(points).astype(int):
        image[y, x] = 255
    return {
        'img': image, 'keypoints': points[None], 'keypoints_visible': np.ones((1, 17), np.float32),
        'bboxes': np.array([[40, 15, 85, 155]], np.float32), 'dataset_meta': META, 'flip': False}


def run(results: dict, *steps: dict) -> dict:
    for step in steps:
        results = TRANSFORMS.build(step).transform(results)
    return results


CUT = dict(type='TopdownAffine', input_size=(96, 128))
GET = dict(type='GetBBoxCenterScale')


def test_points_come_back_from_the_crop() -> None:
    results = run(person(), GET, CUT)
    assert results['img'].shape == (128, 96, 3) and results['img_shape'] == (128, 96)
    back = points_to_image(results['input_keypoints'], results['input_center'][None], results['input_scale'][None],
                           (96, 128))
    np.testing.assert_allclose(back, results['keypoints'], atol=1e-3)


@pytest.mark.parametrize('seed', range(6))
def test_augmented_points_stay_on_the_picture(seed: int) -> None:
    np.random.seed(seed)
    results = person()
    results['img'] = cv2.GaussianBlur(results['img'], (5, 5), 1) * 3
    results = run(results, dict(type='RandomFlip', prob=0.5), GET, dict(type='RandomHalfBody', prob=0.5),
                  dict(type='RandomBBoxTransform'), CUT)
    points = results['input_keypoints'][0]
    inside = (points > 3).all(axis=1) & (points < [92, 124]).all(axis=1)
    assert inside.any()
    for x, y in np.round(points[inside]).astype(int):
        assert results['img'][y - 1:y + 2, x - 1:x + 2].max() > 40


def test_flip_then_crop_is_crop_then_flip() -> None:
    plain = run(person(), GET, CUT)
    flipped = run(person(), dict(type='RandomFlip', prob=1), GET, CUT)
    np.testing.assert_allclose(flipped['img'][:, ::-1].astype(int), plain['img'], atol=1)
    expected = plain['input_keypoints'][0, META['flip_indices']] * [-1, 1] + [95, 0]
    np.testing.assert_allclose(flipped['input_keypoints'][0], expected, atol=1e-3)
    late = run(person(), GET, dict(type='RandomFlip', prob=1), CUT)
    np.testing.assert_allclose(late['input_keypoints'], flipped['input_keypoints'], atol=1e-3)


def test_half_body_looks_at_one_half() -> None:
    np.random.seed(0)
    whole = run(person(), GET)
    centers = set()
    for _ in range(20):
        half = run(copy.deepcopy(whole), dict(type='RandomHalfBody', prob=1))
        centers.add(round(float(half['bbox_center'][0, 1])))
        assert half['bbox_scale'][0, 1] < whole['bbox_scale'][0, 1]
        np.testing.assert_allclose(half['bbox_scale'][0, 0] / half['bbox_scale'][0, 1], 0.75, rtol=1e-5)
    assert len(centers) == 2
    few = copy.deepcopy(whole)
    few['keypoints_visible'][0, 5:] = 0
    assert np.array_equal(run(few, dict(type='RandomHalfBody', prob=1))['bbox_center'], whole['bbox_center'])


def test_box_transform_stays_in_its_ranges() -> None:
    np.random.seed(0)
    start = run(person(), GET)
    for _ in range(100):
        moved = run(copy.deepcopy(start), dict(type='RandomBBoxTransform', shift_prob=1, rotate_prob=1))
        factor = moved['bbox_scale'] / start['bbox_scale']
        assert 0.5 <= factor.min() and factor.max() <= 1.5 and abs(moved['bbox_rotation']) <= 80
        shift = np.abs(moved['bbox_center'] - start['bbox_center']) / start['bbox_scale']
        assert shift.max() <= 0.16 + 1e-6


def test_heatmaps_peak_at_the_points() -> None:
    codec = dict(type='UDPHeatmap', input_size=(96, 128), heatmap_size=(24, 32), sigma=2)
    results = person()
    results['keypoints_visible'][0, 3] = 0
    results = run(results, GET, CUT, dict(type='GenerateHeatmaps', codec=codec, use_joint_weights=True))
    assert results['heatmaps'].shape == (17, 32, 24) and results['keypoint_weights'][3] == 0
    assert not results['heatmaps'][3].any()
    y, x = np.unravel_index(results['heatmaps'][5].argmax(), (32, 24))
    expected = results['input_keypoints'][0, 5] * np.array([23, 31]) / np.array([95, 127])
    np.testing.assert_allclose([x, y], expected, atol=0.51)
