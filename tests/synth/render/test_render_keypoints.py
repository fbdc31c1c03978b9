"""Which key points are seen, hidden or outside, and boxes."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render import render
from sapiens2.synth.render.keypoints import OCCLUDED, OUTSIDE, VISIBLE, modal_box
from sapiens2.synth.scene import Camera


def _seen(persons, camera, surroundings, number=0):
    return render(persons, camera, surroundings(), np.random.default_rng(0))['persons'][number]


def test_front_back_and_outside(ball, camera, surroundings):
    points = [[0, 1, 0.5], [0, 1, -0.5], [5, 1, 0], [0, 1, 5]]
    seen = _seen([ball((0, 1, 0), keypoints=points)], camera, surroundings)
    assert seen['visibility'][:4].tolist() == [VISIBLE, OCCLUDED, OUTSIDE, OUTSIDE]
    assert (seen['visibility'][4:] == OCCLUDED).all(), 'on_surface, in the middle of the ball'
    assert np.allclose(seen['keypoints'][0], [47.3, 63.8], atol=1e-4)
    assert np.allclose(seen['keypoints_3d'][0], [0, 0, 3.5], atol=1e-6)


def test_points_just_before_and_behind_the_outline(ball, camera, surroundings):
    # The outline of a ball of 0.5 m seen from 4 m is turned towards the camera by this much.
    tilt = np.arcsin(0.5 / 4)
    around = np.linspace(0, 6, 24)
    # Right at the outline, pixels of 2.5 cm show the ball far from a point that a ray would reach.
    for turn, expected in ((0.3, VISIBLE), (-0.1, OCCLUDED)):
        x, z = 0.5 * np.cos(tilt + turn), 0.5 * np.sin(tilt + turn)
        points = np.stack([x * np.cos(around), 1 + x * np.sin(around), np.full(24, z)], 1)
        seen = _seen([ball((0, 1, 0), keypoints=points)], camera, surroundings)
        assert (seen['visibility'][:24] == expected).all()


def test_others_hide_points(ball, camera, surroundings):
    person = ball((0, 1, 0), keypoints=[[0, 1, 0.5], [0.3, 1, 0.4]])
    seen = _seen([person, ball((0, 1, 1.2), 0.1)], camera, surroundings)
    assert seen['visibility'][:2].tolist() == [OCCLUDED, VISIBLE]


def test_inner_points_are_seen_through_their_own_skin_only(ball, camera, surroundings):
    points = [[0, 1, 0.0], [0, 1, -0.5]]
    thin = ball((0, 1, 0), 0.12, keypoints=points, on_surface=False)
    assert _seen([thin], camera, surroundings)['visibility'][:2].tolist() == [VISIBLE, OCCLUDED]
    hidden = _seen([thin, ball((0, 1, 0.5), 0.1)], camera, surroundings)
    assert hidden['visibility'][0] == OCCLUDED


def test_visible_surface_points_lie_on_the_pointmap(ball, camera, surroundings, pointmap_of):
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(308, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = np.array([0, 1, 0]) + 0.5 * directions
    result = render([ball((0, 1, 0), keypoints=points)], camera, surroundings(), rng)
    pointmap = pointmap_of(result)
    seen = result['persons'][0]
    # Right at the outline, no pixel may show a point that a ray would reach.
    clear = (directions[:, 2] < 0.075) | (directions[:, 2] > 0.425)
    assert ((seen['visibility'] == VISIBLE) == (directions[:, 2] > 0.125))[clear].all()
    # Pixels are 2.5 cm wide here: near the outline, the next one may be much further away.
    broad = directions[:, 2] > 0.4
    for pixel, point in zip(seen['keypoints'][broad], seen['keypoints_3d'][broad]):
        x, y = np.rint(pixel).astype(int)
        around = pointmap[max(y - 2, 0):y + 3, max(x - 2, 0):x + 3].reshape(-1, 3)
        apart = np.linalg.norm(around - point, axis=1)[around[:, 2] > 0]
        assert len(apart) and apart.min() < 0.03


def test_boxes(ball, camera, surroundings):
    shifted = Camera(camera.K, camera.rotation, camera.position + [0.9, 0, 0], camera.size)
    seen = _seen([ball((0, 1, 0))], shifted, surroundings)
    assert seen['bbox'][0] == -0.5
    # A ball's outline: f * r / sqrt(d^2 - r^2) around its middle, nearly.
    assert np.isclose(seen['bbox'][3] - seen['bbox'][1], 2 * 160 * 0.5 / np.sqrt(16 - 0.25), atol=1.5)
    mask = np.zeros((4, 4), bool)
    mask[1:3, 2] = True
    assert modal_box(mask).tolist() == [1.5, 0.5, 2.5, 2.5]
