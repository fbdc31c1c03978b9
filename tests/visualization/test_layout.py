"""Rows, sheets and text."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.visualization.layout import beside, contact_sheet, fit_square
from sapiens2.visualization.text import put_text, shorten, text_size


def _flat(height: int, width: int, value: int) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def test_beside_aligns_the_tops():
    row = beside([_flat(4, 3, 10), _flat(2, 5, 20)], gap=2)
    assert row.shape == (4, 10, 3)
    assert (row[:, :3] == 10).all() and (row[:2, 5:] == 20).all()
    assert (row[:, 3:5] == 255).all() and (row[2:, 5:] == 255).all()


def test_contact_sheet_shows_every_picture_in_reading_order():
    tiles = [(f'picture {index}', _flat(30 + index, 60, 40 * (index + 1))) for index in range(5)]
    sheet = contact_sheet(tiles, columns=2, tile=100, title='all of them')
    places = [np.argwhere((sheet == 40 * (index + 1)).all(axis=-1)).mean(axis=0) for index in range(5)]
    assert places[0][0] < places[2][0] < places[4][0]
    assert places[0][1] < places[1][1] and abs(places[0][0] - places[1][0]) < 20
    assert sheet.shape[1] < 2 * 120


def test_contact_sheet_of_extreme_shapes():
    sheet = contact_sheet([('x' * 300, _flat(1, 1, 5)), ('', _flat(3, 2000, 5)), ('tall', _flat(6000, 40, 5))], tile=90)
    assert sheet.ndim == 3
    with pytest.raises(ValueError, match='no picture'):
        contact_sheet([])


def test_fit_square_keeps_the_shape():
    assert fit_square(_flat(200, 100, 0), 50).shape == (50, 25, 3)
    assert fit_square(_flat(1, 2000, 0), 50).shape == (1, 50, 3)


def test_text_is_cut_at_the_edges_of_the_picture():
    image = _flat(20, 40, 255)
    put_text(image, 'text', (30, 10), 12, (0, 0, 0))
    put_text(image, 'text', (-500, -500), 12, (0, 0, 0))
    assert (image < 255).any()


def test_long_text_is_shortened_in_the_middle():
    short = shorten('a long name of a picture.jpg', 12, 80)
    assert text_size(short, 12)[0] <= 80
    assert short.startswith('a') and short.endswith('g') and '…' in short
    assert shorten('short', 12, 500) == 'short'
