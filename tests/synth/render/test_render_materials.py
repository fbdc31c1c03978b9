"""Every material and kind of surroundings can be drawn; unknown ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sapiens2.synth.render import fabric, matter, render, sample_photo, sample_surroundings, skin
from sapiens2.synth.render.features import keypoint_index
from sapiens2.synth.render.painting import PAINTERS
from sapiens2.synth.render.surroundings import SHARES
from sapiens2.synth.scene import Material
from sapiens2.utils.suggest import UnknownNameError

COLOR = np.float32([0.4, 0.3, 0.25])
COLORS = np.float32([[0.05, 0.1, 0.3], [0.6, 0.6, 0.1]])
CASES = ([(kind, 'plain') for kind in PAINTERS] + [('fabric', name) for name in fabric.PATTERNS]
         + [('matter', name) for name in matter.PATTERNS] + [('skin', name) for name in skin.PATTERNS]
         + [('hair', 'highlights')])


@pytest.mark.parametrize(('kind', 'pattern'), CASES)
def test_materials(ball, camera, surroundings, kind, pattern):
    material = Material(kind, COLOR, pattern, COLORS, 0.08, 0.5)
    result = render([ball((0, 1, 0), material=material)], camera, surroundings(), np.random.default_rng(0))
    albedo = result['albedo'][result['mask']]
    assert np.isfinite(albedo).all() and albedo.min() > 0 and albedo.max() < 1
    assert result['image'][result['mask']].std() > 3
    if kind == 'fabric' and pattern not in ('plain', 'knit', 'denim'):
        assert albedo.std(0).max() > 0.05


def test_unknown_names_are_refused(ball, camera, surroundings):
    cases = (('fabrik', 'plain', 'fabric'), ('fabric', 'stripe', 'stripes'), ('skin', 'frecles', 'freckles'),
             ('matter', 'plank', 'planks'))
    for kind, pattern, wrong in cases:
        material = Material(kind, COLOR, pattern)
        with pytest.raises(UnknownNameError, match=wrong):
            render([ball((0, 1, 0), material=material)], camera, surroundings(), np.random.default_rng(0))


@pytest.mark.parametrize('kind', list(SHARES))
def test_surroundings(ball, camera, kind):
    person = ball((0, 0.5, 0))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scene = sample_surroundings(rng, [person], camera, kind)
        result = render([person], camera, scene, rng, sample_photo(rng, camera.size))
        assert scene.name == kind and result['image'][~result['mask']].std() > 1
        assert 20 < result['image'][result['mask']].mean() < 235
        assert not result['sem_seg'][~result['mask']].any()


def test_a_picture_of_the_user_is_the_background(ball, camera):
    picture = np.zeros((128, 96, 3), np.uint8)
    picture[:, 48:] = (30, 60, 200)
    picture[:, :48] = (200, 120, 30)
    person = ball((0, 1, 0), 0.3)
    scene = sample_surroundings(np.random.default_rng(0), [person], camera, background=picture)
    image = render([person], camera, scene, np.random.default_rng(0))['image'].astype(int)
    assert image[5, 80, 2] > image[5, 80, 0] + 40 and image[5, 10, 0] > image[5, 10, 2] + 40


def test_wrong_surroundings_are_refused(ball, camera):
    with pytest.raises(UnknownNameError, match='studio'):
        sample_surroundings(np.random.default_rng(0), [ball((0, 1, 0))], camera, 'studios')
    small = np.zeros((9, 9, 3), np.uint8)
    with pytest.raises(ValueError, match='resize'):
        sample_surroundings(np.random.default_rng(0), [ball((0, 1, 0))], camera, background=small)


def _face_points():
    """(308, 3) key points of a face painted on a ball of 0.1 m around (0, 1, 0): eyes 6 cm apart."""
    index = keypoint_index()
    points = np.zeros((308, 3), np.float32) + np.float32([0, 3, 0])

    def on_ball(x, y):
        return np.float32([x, 1 + y, np.sqrt(0.1**2 - x * x - y * y)])

    clock = {'12': (0, 1), '3': (1, 0), '6': (0, -1), '9': (-1, 0)}
    for side, name, x in (('l', 'left', 0.03), ('r', 'right', -0.03)):
        points[index[f'{name}_eye']] = points[index[f'{side}_center_of_iris']] = on_ball(x, 0.02)
        for hour, (right, up) in clock.items():
            points[index[f'{side}_border_of_iris_{hour}']] = on_ball(x + 0.006 * right, 0.02 + 0.006 * up)
            points[index[f'{side}_border_of_pupil_{hour}']] = on_ball(x + 0.003 * right, 0.02 + 0.003 * up)
        for step, part in enumerate(('startpoint', 'midpoint_1', 'midpoint_2', 'midpoint_3')):
            along = (0.6 + 0.4 * step / 3 * 2) * x
            points[index[f'upper_{part}_of_{side}_eyebrow']] = on_ball(along, 0.05)
            points[index[f'lower_{part}_of_{side}_eyebrow']] = on_ball(along, 0.044)
        points[index[f'end_of_{side}_eyebrow']] = on_ball(1.7 * x, 0.045)
        for name_, number in index.items():
            if name_.startswith(f'{side}_') and name_.endswith('lash_line'):
                points[number] = on_ball((0.7 + 0.6 * ('outer' in name_)) * x, 0.03)
    for name, x, y in (('nose', 0, 0), ('tip_of_nose', 0, 0), ('center_of_nose_root', 0, 0.02)):
        points[index[name]] = on_ball(x, y)
    return points


def test_face_is_painted_at_its_key_points(ball, camera, surroundings):
    near = replace(camera, K=np.array([[1600.0, 0, 47.5], [0, 1600.0, 63.5], [0, 0, 1]]))
    skin = Material('skin', np.float32([0.5, 0.3, 0.2]), 'stubble', np.float32([[0.02, 0.02, 0.02]]), seed=1)
    blue = Material('eye', np.float32([0.05, 0.1, 0.5]))
    face, eyes = (ball((0, 1, 0), 0.1, material=material, keypoints=_face_points()) for material in (skin, blue))
    shown, looked = (render([person], near, surroundings(), np.random.default_rng(0)) for person in (face, eyes))

    def at(result, x, y):
        return result['albedo'][round(63.5 - 1600 * y / 3.9), round(47.5 + 1600 * x / 3.9)]

    plain = at(shown, 0, 0.075)
    assert at(shown, 0.03, 0.047).mean() < 0.6 * plain.mean(), 'brow'
    assert at(shown, 0, -0.05).mean() < 0.8 * plain.mean(), 'stubble'
    assert at(shown, 0.03, 0.03).mean() < 0.85 * plain.mean(), 'lashes'
    pupil, iris, white = at(looked, 0.03, 0.02), at(looked, 0.0348, 0.02), at(looked, 0.03, 0.04)
    assert pupil.max() < 0.2 and iris[2] > 1.5 * iris[0] and white.min() > 0.3
