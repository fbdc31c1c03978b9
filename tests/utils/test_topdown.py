"""Box to crop and back."""

from __future__ import annotations

import numpy as np
import torch

from sapiens2.utils.topdown import apply_affine, box_to_center_scale, points_to_image, udp_matrix

SIZE = (48, 64)


def test_box_grows_to_the_aspect() -> None:
    center, scale = box_to_center_scale(np.array([[20, 11, 88, 90], [0, 0, 10, 100]]), 1.25, 3 / 4)
    np.testing.assert_allclose(center, [[54, 50.5], [5, 50]])
    np.testing.assert_allclose(scale, [[85, 85 / 0.75], [125 * 0.75, 125]], rtol=1e-6)


def test_centre_and_corners_of_the_crop() -> None:
    center, scale = np.array([54, 50.5], np.float32), np.array([85, 113.33333], np.float32)
    matrix = udp_matrix(center, scale, SIZE)
    corners = np.stack([center - scale / 2, center, center + scale / 2])
    np.testing.assert_allclose(apply_affine(corners, matrix), [[0, 0], [23.5, 31.5], [47, 63]], atol=1e-4)


def test_rotation_turns_clockwise_about_the_centre() -> None:
    center, scale = np.array([50, 60.0]), np.array([48, 64.0])
    matrix = udp_matrix(center, scale, SIZE, rotation=90)
    right_of_center = apply_affine(np.array([[60, 60.0]]), matrix)
    np.testing.assert_allclose(right_of_center, [[23.5, 31.5 + 10 * 63 / 64]], atol=1e-4)


def test_back_to_the_image_in_numpy_and_torch() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-10, 70, (2, 5, 2)).astype(np.float32)
    centers, scales = rng.uniform(20, 90, (2, 2)).astype(np.float32), rng.uniform(20, 90, (2, 2)).astype(np.float32)
    back = points_to_image(points, centers, scales, SIZE)
    for person in range(2):
        matrix = udp_matrix(centers[person], scales[person], SIZE)
        np.testing.assert_allclose(apply_affine(back[person], matrix), points[person], atol=1e-3)
    torched = points_to_image(torch.from_numpy(points), torch.from_numpy(centers), torch.from_numpy(scales), SIZE)
    np.testing.assert_allclose(torched.numpy(), back, atol=1e-4)


def test_mirroring_commutes() -> None:
    """The mirrored crop of an image is the crop of the mirrored image: the point of unbiased processing."""
    width = 121
    center, scale = np.array([54, 50.5]), np.array([85, 113.0])
    points = np.random.default_rng(1).uniform(0, 90, (6, 2))
    mirrored = np.stack([width - 1 - points[:, 0], points[:, 1]], axis=1)
    crop = apply_affine(points, udp_matrix(center, scale, SIZE))
    other = apply_affine(mirrored, udp_matrix(np.array([width - 1 - center[0], center[1]]), scale, SIZE))
    np.testing.assert_allclose(other[:, 0], SIZE[0] - 1 - crop[:, 0], atol=1e-4)
    np.testing.assert_allclose(other[:, 1], crop[:, 1], atol=1e-4)
