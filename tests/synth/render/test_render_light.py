"""Light from all around, shadows, ambient occlusion, and what the camera makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.synth.render import Photo, render
from sapiens2.synth.render.environment import Ambient, Map, map_directions
from sapiens2.synth.render.photo import develop
from sapiens2.utils.srgb import to_linear
from sapiens2.synth.render.noise import noise


def _directions(count=500):
    vectors = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    return np.asfortranarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def test_even_light_is_even():
    ambient = Ambient(np.full((48, 96, 3), 0.7, np.float32))
    assert np.allclose(ambient.irradiance(_directions()), 0.7, atol=0.01)
    for roughness in (0.0, 0.2, 0.5, 0.9):
        assert np.allclose(ambient.reflection(_directions(), np.full(500, roughness, np.float32)), 0.7, atol=0.01)


def test_irradiance_of_a_half_lit_sky():
    directions, _ = map_directions(48)
    sky = np.repeat((directions[:, 1:2] > 0).astype(np.float32), 3, 1).reshape(48, 96, 3)
    up = np.asfortranarray(np.float32([[0, 1, 0], [1, 0, 0], [0, -1, 0]]))
    assert np.allclose(Ambient(sky).irradiance(up)[:, 0], [1, 0.5, 0], atol=0.07)


def test_maps_are_looked_up_by_direction():
    directions, angles = map_directions(24)
    assert np.isclose(angles.sum(), 4 * np.pi, rtol=1e-3)
    values = np.ascontiguousarray((directions + 1).reshape(24, 48, 3))
    assert np.abs(Map(values).at(_directions()) - (_directions() + 1)).max() < 0.15


def test_a_ball_casts_a_shadow_away_from_the_lamp(ball, camera, surroundings):
    scene = surroundings((-3, 4, 0), (90, 90, 90), 0.1)
    with_ball = render([ball((0, 0.6, 0), 0.4)], camera, scene, np.random.default_rng(0))['image'].mean(2)
    # The ground at x = 0.6 (to the right in the picture) is in the shadow, at x = -0.9 it is not.
    row = int(63.8 + 160 / 4)
    assert with_ball[row, 47 + 24] < 0.6 * with_ball[row, 47 - 36]


def test_occlusion_darkens_where_things_touch(ball, camera, surroundings):
    scene = surroundings(intensity=(0, 0, 0))
    image = render([ball((0, 0.5, 0), 0.5)], camera, scene, np.random.default_rng(0))['image'].mean(2)
    assert image[int(63.8 + 160 * 1 / 3.9), 47] < 0.8 * image[int(63.8 + 160 * 1 / 3.9), 92]


def test_linear_values_of_srgb():
    assert np.allclose(to_linear(np.uint8([0, 128, 255])), [0, 0.2159, 1], atol=1e-3)


@pytest.mark.parametrize('setting', [{'exposure': 1.0}, {'white': (1.3, 1.0, 0.7)}, {'contrast': 1.4},
                                     {'saturation': 0.2}, {'vignetting': 0.5}, {'blur': 1.5}, {'noise': 5.0},
                                     {'jpeg': 40}])
def test_each_setting_of_the_photo_does_something(setting):
    radiance = np.random.default_rng(0).uniform(0.05, 1.2, (64, 48, 3)).astype(np.float32)
    mask = np.ones((64, 48), bool)
    plain = develop(radiance, mask, Photo(), np.random.default_rng(0)).astype(float)
    other = develop(radiance, mask, Photo(**setting), np.random.default_rng(0)).astype(float)
    assert other.shape == plain.shape and np.abs(other - plain).mean() > 1
    if 'exposure' in setting:
        assert other.mean() > plain.mean() + 15
    if 'vignetting' in setting:
        assert (plain - other)[:4, :4].mean() > (plain - other)[28:36, 20:28].mean() + 10


def test_noise_is_smooth_bounded_and_seeded():
    line = np.zeros((1000, 3), np.float32)
    line[:, 0] = np.linspace(0, 1, 1000)
    values = noise(line, 0.1)
    assert values.shape == (1000, 4) and np.abs(values).max() <= 1 and values.std(0).min() > 0.1
    assert np.abs(np.diff(values, axis=0)).max() < 0.05
    assert (values == noise(line, 0.1)).all() and (values != noise(line, 0.1, 1)).any()
