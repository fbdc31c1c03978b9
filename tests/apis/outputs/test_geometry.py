"""Cameras, point clouds and meshes of pointmaps whose camera is known."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from sapiens2.apis.outputs import (Camera, OutputOptions, apply_camera, estimate_intrinsics, read_camera,
                                   rescale_to_camera, write_result)
from sapiens2.apis.outputs.geometry_files import grid_mesh, seen_points

SIZE = (60, 80)
JPEG = b'\xff\xd8\xff\xe0\x00\x10JFIF\x00'
K = np.array([[90.0, 0, 39.5], [0, 90, 29.5], [0, 0, 1]])


def scene(matrix: np.ndarray = K, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A bumpy wall 3 m away and, in the middle, somebody 2 m away: (H, W, 3) metres."""
    y, x = np.mgrid[:size[0], :size[1]].astype(np.float64)
    depth = 3 + 0.05 * np.sin(x / 5) + 0.05 * np.cos(y / 7)
    depth[size[0] // 4:3 * size[0] // 4, size[1] // 4:3 * size[1] // 4] -= 1
    rays = np.stack([(x - matrix[0, 2]) / matrix[0, 0], (y - matrix[1, 2]) / matrix[1, 1], np.ones_like(x)], axis=-1)
    return (rays * depth[..., None]).astype(np.float32)


def result(**entries) -> dict:
    return {'task': 'pointmap', 'image_size': SIZE, 'dataset_meta': {}, 'pointmap': scene(),
            'scale': np.ones(1, np.float32), **entries}


def write(folder, *formats, **entries):
    image = np.random.default_rng(0).integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    return image, write_result(folder, 'a', image, result(**entries), OutputOptions(pointmap=formats, picture=False))


def test_the_camera_of_exact_points_is_found():
    assert np.allclose(estimate_intrinsics(scene()), K, atol=1e-3)
    odd = np.array([[85.0, 0, 30], [0, 95, 36], [0, 0, 1]])
    assert np.allclose(estimate_intrinsics(scene(odd), centred=False), odd, atol=1e-2)


def test_the_camera_is_found_among_noise_and_outliers():
    rng = np.random.default_rng(0)
    points = scene() * rng.normal(1, 0.01, (*SIZE, 1)).astype(np.float32) + rng.normal(0, 0.005, (*SIZE, 3))
    wrong = rng.uniform(size=SIZE) < 0.2
    points[wrong] = rng.uniform(0.5, 5, (wrong.sum(), 3))
    for centred in (True, False):
        found = estimate_intrinsics(points, centred=centred)
        assert np.allclose(found, K, rtol=0.03), found


def test_a_mask_and_large_pictures():
    points = scene(K * [[4], [4], [1]], (240, 320))
    points[:100] = 1
    mask = np.zeros((240, 320), bool)
    mask[100:] = True
    found = estimate_intrinsics(points, mask, centred=False)
    assert found[0, 0] == pytest.approx(360, rel=1e-3) and found[1, 1] == pytest.approx(360, rel=1e-3)


@pytest.mark.parametrize('points', [np.zeros((*SIZE, 3)), -scene(), np.full((*SIZE, 3), np.nan), np.ones((5, 5, 3)),
                                    scene() * [-1, -1, 1]])
def test_points_that_no_camera_sees_so(points):
    assert estimate_intrinsics(points) is None


def test_numbers_hold_the_camera(tmp_path):
    _, (npz, camera) = write(tmp_path, 'npz', 'camera')
    stored = np.load(npz)
    assert np.allclose(stored['K'], K, atol=1e-3) and str(stored['K_from']) == 'estimated'
    assert (stored['pointmap'] == scene()).all()
    again = read_camera(str(camera))
    assert again.size == SIZE and np.allclose(again.matrix(SIZE), K, atol=1e-3)
    _, (npz, camera) = write(tmp_path, 'npz', 'camera', camera=2 * K)
    assert str(np.load(npz)['K_from']) == 'given' and json.loads(camera.read_text())['K'] == (2 * K).tolist()
    _, (npz, camera) = write(tmp_path, 'npz', 'camera', pointmap=-scene())
    assert np.isnan(np.load(npz)['K']).all() and json.loads(camera.read_text())['K'] is None


def test_a_camera_is_read_from_text_and_files(tmp_path):
    assert read_camera('100,110,40,30').matrix(SIZE).tolist() == [[100, 0, 40], [0, 110, 30], [0, 0, 1]]
    path = tmp_path / 'K.json'
    path.write_text(json.dumps({'fx': 100, 'fy': 100, 'cx': 79.5, 'cy': 59.5, 'width': 160, 'height': 120}))
    # Pixel areas are scaled: the middle stays the middle.
    assert read_camera(str(path)).matrix(SIZE).tolist() == [[50, 0, 39.5], [0, 50, 29.5], [0, 0, 1]]
    with pytest.raises(ValueError, match=r'K\.json: is of pictures of 160 x 120 pixels, this one has 60 x 80'):
        read_camera(str(path)).matrix((80, 60))
    with pytest.raises(ValueError, match='principal point'):
        Camera(100, 100, 200, 200).matrix(SIZE)
    for text in ('1,2,3', '0,1,2,3', 'nan,1,2,3'):
        with pytest.raises(ValueError, match='give fx,fy,cx,cy'):
            read_camera(text)
    with pytest.raises(ValueError, match=r'none\.json: there is no such file\. Give fx,fy,cx,cy'):
        read_camera(str(tmp_path / 'none.json'))
    for name, content, words in (('photo.jpg', JPEG, 'is no file of a camera'),
                                 ('photo.npy', JPEG, 'as a NumPy file: it is none')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=words) as caught:
            read_camera(str(tmp_path / name))
        assert 'pickle' not in str(caught.value)
    path.write_text(json.dumps({'K': [[100, 3, 40], [0, 100, 30], [0, 0, 1]]}))
    with pytest.raises(ValueError, match='skew'):
        read_camera(str(path))


def test_a_known_camera_mends_distance_and_rays():
    """A lens twice as long as was guessed: everything is twice as far, and on the rays of its pixels."""
    true = scene()
    guessed_focal = 45.0
    predicted = true * np.float32(guessed_focal / K[0, 0]) * np.array([1.2, 0.9, 1], np.float32)
    assert np.allclose(rescale_to_camera(predicted, guessed_focal, K), true, atol=1e-5)
    known = apply_camera(result(pointmap=predicted, focal=np.array([45.0])), Camera(180, 180, 79.5, 59.5, (120, 160)))
    assert np.allclose(known['pointmap'], true, atol=1e-5) and np.allclose(known['camera'], K)


def test_ply_holds_the_points_seen_with_their_colours(tmp_path):
    trimesh = pytest.importorskip('trimesh')
    mask = np.zeros(SIZE, bool)
    mask[10:50, 20:60] = True
    image, (path,) = write(tmp_path, 'ply', mask=mask)
    cloud = trimesh.load(path)
    assert np.allclose(cloud.vertices, scene()[mask], atol=1e-6)
    assert (cloud.colors[:, :3] == image[mask][:, ::-1]).all()


def test_a_mesh_is_cut_where_one_thing_hides_another():
    points = scene()
    pixels, faces = grid_mesh(points, seen_points(points))
    depths = points[pixels[faces][..., 1], pixels[faces][..., 0], 2]
    assert (np.ptp(depths, axis=1) < 0.2).all()
    assert 0.9 * 2 * 59 * 79 < len(faces) < 2 * 59 * 79
    # All triangles face the camera: their normals have z < 0.
    corners = points[pixels[faces][..., 1], pixels[faces][..., 0]].astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((normals * corners[:, 0]).sum(axis=1) < 0).all()


def test_glb_has_y_up_looks_along_minus_z_and_wears_the_photograph(tmp_path):
    trimesh = pytest.importorskip('trimesh')
    image, (path,) = write(tmp_path, 'glb')
    mesh = trimesh.load(path, force='mesh', process=False)
    points = scene()
    pixels, faces = grid_mesh(points, seen_points(points))
    assert np.allclose(mesh.vertices, points[pixels[:, 1], pixels[:, 0]] * [1, -1, -1], atol=1e-6)
    assert (mesh.faces == faces).all()
    # trimesh counts v from below, glTF from above.
    assert np.allclose(mesh.visual.uv * [1, -1] + [0, 1], (pixels + 0.5) / [SIZE[1], SIZE[0]], atol=1e-6)
    assert mesh.visual.material.baseColorTexture.size == SIZE[::-1]
    content = path.read_bytes()
    assert struct.unpack('<4sII', content[:12]) == (b'glTF', 2, len(content))


def test_nothing_seen_gives_valid_empty_files(tmp_path):
    trimesh = pytest.importorskip('trimesh')
    _, (ply, glb) = write(tmp_path, 'ply', 'glb', pointmap=-scene())
    assert b'element vertex 0\n' in ply.read_bytes()
    assert not trimesh.load(glb, force='scene').geometry
