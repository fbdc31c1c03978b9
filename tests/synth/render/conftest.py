"""People made of balls, and plain surroundings, whose truth is known without a mesh."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('embreex')

from sapiens2.synth.render.cameras import look_at  # noqa: E402
from sapiens2.synth.scene import Camera, Light, Material, Mesh, Person, Surroundings  # noqa: E402
from sapiens2.utils.pinhole import unproject  # noqa: E402

SKIN = Material('skin', np.float32([0.5, 0.3, 0.2]), roughness=0.45, specular=0.03, seed=3)


def _ball(centre, radius=0.5, label=3, material=SKIN, keypoints=None, on_surface=True, rings=48):
    """A ball as a person; ``keypoints`` (k, 3) are the first k of its 308 points, the others lie around its middle."""
    polar, azimuth = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False),
                                 indexing='ij')
    normals = np.stack([np.sin(polar) * np.sin(azimuth), np.cos(polar), np.sin(polar) * np.cos(azimuth)], -1)
    normals = normals.reshape(-1, 3).astype(np.float32)
    a, b = np.meshgrid(np.arange(rings), np.arange(2 * rings), indexing='ij')
    first, after = a * 2 * rings + b, a * 2 * rings + (b + 1) % (2 * rings)
    below = first + 2 * rings
    faces = np.stack([np.stack([first, below, after], -1), np.stack([after, below, after + 2 * rings], -1)])
    faces = faces.reshape(-1, 3).astype(np.int32)
    mesh = Mesh(vertices=(np.float32(centre) + np.float32(radius) * normals), faces=faces, normals=normals,
                rest=np.float32(radius) * normals, labels=np.full(len(faces), label, np.uint8),
                materials=np.zeros(len(faces), np.uint8))
    points = np.float32(centre) + np.random.default_rng(0).normal(0, 1e-3, (308, 3)).astype(np.float32)
    if keypoints is not None:
        points[:len(keypoints)] = keypoints
    return Person(mesh, (material,), points, np.full(308, on_surface), {})


@pytest.fixture
def ball():
    return _ball


@pytest.fixture
def camera():
    """At (0, 1, 4), looking at (0, 1, 0): the picture's x is the world's x; an odd principal point."""
    position = np.array([0.0, 1.0, 4.0])
    K = np.array([[160.0, 0, 47.3], [0, 160.0, 63.8], [0, 0, 1]])
    return Camera(K, look_at(position, np.array([0.0, 1.0, 0.0])), position, (128, 96))


@pytest.fixture
def surroundings():
    """Grey ground under an even sky, and a lamp to the upper left or where it is asked for."""

    def make(position=(-3.0, 4.0, 3.0), intensity=(60.0, 60.0, 60.0), sky=1.0):
        ground = Mesh(vertices=np.float32([[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]]),
                      faces=np.int32([[0, 1, 2], [0, 2, 3]]), normals=np.tile(np.float32([0, 1, 0]), (4, 1)),
                      rest=np.float32([[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]]), labels=np.zeros(2, np.uint8),
                      materials=np.zeros(2, np.uint8))
        light = Light(np.array(position), np.float32(intensity), 0.1)
        return Surroundings(np.full((48, 96, 3), sky, np.float32), (light,), ground,
                            (Material('matter', np.float32([0.4, 0.4, 0.4])),))

    return make


@pytest.fixture
def pointmap_of():
    """(H, W, 3) metres, camera frame, of what ``render`` gives."""
    return lambda result: unproject(result['depth'], result['K']).astype(np.float64)
