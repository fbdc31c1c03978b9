"""Colour pictures of dense maps."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.visualization.maps import (
    LEGEND_ROWS, depth_bar, depth_range, depth_to_bgr, label_legend, labels_to_bgr, normals_to_bgr, overlay_labels,
    unit_to_bgr)

PALETTE = [[50, 50, 50], [255, 0, 0], [0, 0, 255]]


def test_normals_are_rgb_in_bgr_order():
    normal = np.array([[[1.0, 0, -1]]])
    assert normals_to_bgr(normal).tolist() == [[[0, 128, 255]]]


def test_values_that_are_not_finite_are_clipped():
    assert unit_to_bgr(np.array([[[np.nan, np.inf, -1.0]]])).tolist() == [[[0, 255, 0]]]


def test_labels_take_the_palette_and_255_is_black():
    assert labels_to_bgr(np.array([[1, 2, 255]]), PALETTE).tolist() == [[[0, 0, 255], [255, 0, 0], [0, 0, 0]]]


def test_overlay_leaves_the_background_alone():
    image = np.full((6, 8, 3), 100, np.uint8)
    labels = np.zeros((6, 8), np.int64)
    labels[2:5, 3:6] = 1
    drawn = overlay_labels(image, labels, PALETTE, alpha=0.5)
    assert (drawn[:2, :3] == 100).all()
    assert drawn[3, 4].tolist() == [50, 50, 178]
    assert (overlay_labels(image, labels, PALETTE, alpha=0.5, background=None)[0, 0] == 75).all()
    assert (image == 100).all()


@pytest.mark.parametrize('height', [1, 30, 2000])
def test_legend_names_each_class_once(height):
    legend = label_legend(np.array([[0, 0, 1]]), ['Background', 'Left_Hand', 'Nose'], PALETTE, height)
    assert legend.shape[0] >= height
    # Swatches in order of their share; the third class has no pixel.
    assert (legend == (50, 50, 50)).all(axis=-1).any()
    assert (legend == (0, 0, 255)).all(axis=-1).any()
    assert not (legend == (255, 0, 0)).all(axis=-1).any()


def test_legend_leaves_out_traces_and_sums_up_what_has_no_row():
    """Thirty classes that halve in size from one to the next."""
    palette = [[8 * i, 255 - 8 * i, 100] for i in range(30)]
    labels = np.repeat(np.arange(30), np.maximum(2 ** np.arange(29, -1, -1) >> 10, 1))[None]
    legend = label_legend(labels, [f'class {i}' for i in range(30)], palette, 300)

    def shown(i):
        return (legend == palette[i][::-1]).all(axis=-1).any()

    # The share of class 10, 2 to the power -11, is 0.049 %.
    assert [i for i in range(30) if shown(i)] == list(range(10))
    # One row is for those that have none.
    even = label_legend(np.arange(30)[None], [f'class {i}' for i in range(30)], palette, 300)
    assert len(even) == 300
    rows = [i for i in range(30) if (even == palette[i][::-1]).all(axis=-1).any()]
    assert rows == list(range(LEGEND_ROWS - 1))


def test_near_is_red_far_is_blue_and_nothing_is_black():
    depth = np.array([[1.0, 3.0, 0, np.nan, np.inf]])
    colors = depth_to_bgr(depth, 1, 3)
    assert colors[0, 0, 2] > colors[0, 0, 0]
    assert colors[0, 1, 0] > colors[0, 1, 2]
    assert (colors[0, 2:] == 0).all()


def test_depth_range_ignores_outliers_and_what_is_no_depth():
    depth = np.concatenate([np.linspace(2, 4, 1000), [1e6, 0, -3, np.nan, np.inf]])
    near, far = depth_range(depth)
    assert 2 <= near < 2.1 and 3.9 < far < 4.1
    assert depth_range(np.zeros((2, 2))) == (0.0, 1.0)
    near, far = depth_range(np.full((2, 2), 5.0))
    assert near < far


@pytest.mark.parametrize('height', [1, 2, 40, 900])
@pytest.mark.parametrize('near, far', [(0.0, 1.0), (1.0, 1.001), (0.1, 1000.0)])
def test_depth_bar_has_the_height_of_the_picture(height, near, far):
    assert depth_bar(near, far, height).shape[0] == height


def test_depth_bar_says_what_black_means():
    bar = depth_bar(1, 5, 400)
    black = (bar == 0).all(axis=2)
    rows = np.flatnonzero(black.any(axis=1))
    assert len(rows) == 16 and rows[0] > 370, 'one square below the colours'
    beside = bar[rows[0]:rows[-1] + 1, 40:]
    assert (beside < 100).all(axis=2).any(), 'a text beside it'
    assert not (depth_bar(1, 5, 60) == 0).all(axis=2).any(), 'no room'
