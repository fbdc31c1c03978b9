"""Cameras: conventions, and that drawn ones look at people."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.render.cameras import look_at, pixel_rays, project, sample_camera


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


def test_drawn_cameras_see_people_from_outside(ball):
    persons = [ball((0, 0.9, 0), 0.9), ball((1.5, 0.9, 0.5), 0.9)]
    for seed in range(40):
        camera = sample_camera(np.random.default_rng(seed), persons, (128, 96))
        again = sample_camera(np.random.default_rng(seed), persons, (128, 96))
        assert (camera.K == again.K).all() and (camera.position == again.position).all()
        assert np.allclose(camera.rotation @ camera.rotation.T, np.eye(3)) and camera.size == (128, 96)
        pixels, depth = project(camera, np.concatenate([person.mesh.vertices for person in persons]))
        inside = (depth > 0) & (pixels > 0).all(1) & (pixels[:, 0] < 96) & (pixels[:, 1] < 128)
        assert inside.mean() > 0.02 and camera.position[1] > 0.1
        assert camera.K[0, 0] == camera.K[1, 1] and camera.K[0, 0] >= 24 / 36 * 128
