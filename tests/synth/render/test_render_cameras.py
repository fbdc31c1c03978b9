"""Cameras: conventions."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.cameras import look_at, pixel_rays, project


def test_axes_are_right_down_forward(camera):
    pixels, depth = project(camera, np.array([[0, 1, 0], [0.5, 1, 0], [0, 0.5, 0], [0, 1, 9.0]]))
    assert np.allclose(depth, [4, 4, 4, -5])
    assert np.allclose(pixels[:3], [[47.3, 63.8], [67.3, 63.8], [47.3, 83.8]])


def test_rays_go_through_their_pixels(camera):
    pixels = np.array([[0, 0], [95, 127], [33.25, 71.5]])
    rays = pixel_rays(camera, pixels)
    assert np.allclose(np.linalg.norm(rays, axis=1), 1, atol=1e-6)
    back, depth = project(camera, camera.position + 2.5 * rays.astype(np.float64))
    assert np.allclose(back, pixels, atol=1e-3) and (depth > 0).all()


def test_look_at_is_a_rotation_also_straight_down():
    for target in ([1.0, 2.0, 3.0], [0.0, -1.0, 0.0]):
        rotation = look_at(np.zeros(3), np.array(target), roll=0.3)
        assert np.allclose(rotation @ rotation.T, np.eye(3)) and np.isclose(np.linalg.det(rotation), 1)
        assert np.allclose(rotation[2], np.array(target) / np.linalg.norm(target))
