"""Skeletons."""

from __future__ import annotations

import numpy as np

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.visualization.pose import draw_pose

META = load_metainfo('coco')


def _person(scale: float, shift: float = 20) -> np.ndarray:
    """17 points, spread in a pattern of unit size times ``scale``."""
    points = np.random.default_rng(0).random((17, 2))
    return points * scale + shift


def _changed(image: np.ndarray, drawn: np.ndarray) -> int:
    return int((image != drawn).any(axis=-1).sum())


def test_image_is_not_changed_and_lines_follow_the_size_of_the_person():
    image = np.zeros((600, 600, 3), np.uint8)
    scores = np.ones((1, 17))
    small = _changed(image, draw_pose(image, _person(60)[None], scores, META))
    large = _changed(image, draw_pose(image, _person(500)[None], scores, META))
    assert not image.any()
    assert small > 0
    # Lines of one width would grow with the length, about 8 times.
    assert large > 20 * small


def test_points_below_the_threshold_are_left_out():
    image = np.zeros((200, 200, 3), np.uint8)
    scores = np.full((1, 17), 0.2)
    assert _changed(image, draw_pose(image, _person(150)[None], scores, META)) == 0
    scores[0, 0] = 0.9
    x, y = (int(value) for value in np.rint(_person(150)[0]))
    drawn = draw_pose(image, _person(150)[None], scores, META)
    assert drawn[y, x].any()


def test_points_that_are_far_away_or_not_finite_are_left_out():
    image = np.zeros((200, 200, 3), np.uint8)
    keypoints = _person(150)[None]
    keypoints[0, 5:] = np.nan
    keypoints[0, 4] = 1e12
    scores = np.ones((1, 17))
    with_few = draw_pose(image, keypoints, scores, META)
    scores[0, 4:] = 0
    assert (with_few == draw_pose(image, np.nan_to_num(keypoints), scores, META)).all()


def test_boxes_may_reach_far_over_the_edges():
    image = np.zeros((50, 50, 3), np.uint8)
    box = np.array([[10, 10, 1e9, 1e9]])
    drawn = draw_pose(image, np.zeros((1, 17, 2)), np.zeros((1, 17)), META, boxes=box)
    assert drawn[30, 10].any() and drawn[10, 30].any() and not drawn[30, 30].any()


def test_tiny_picture():
    image = np.zeros((1, 1, 3), np.uint8)
    assert draw_pose(image, np.zeros((1, 17, 2)), np.ones((1, 17)), META).shape == (1, 1, 3)


def test_hidden_points_are_hollow():
    image, points = np.zeros((300, 300, 3), np.uint8), _person(250)[None]
    hidden = np.zeros((1, 17))
    hidden[0, 9] = 1
    plain, hollow = (draw_pose(image, points, np.ones((1, 17)), META, alpha=1, hidden=flags)
                     for flags in (None, hidden))
    x, y = points[0, 9].round().astype(int)
    assert (hollow[y, x] == 255).all() and not (plain[y, x] == 255).all()
    changed = np.argwhere((plain != hollow).any(axis=-1))
    assert np.abs(changed - [y, x]).max() < 8
