"""THuman, Hi4D and the renderer, on spheres and egg shapes, whose depth, normals and outlines are known."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from tiny_sources import HI4D_CAMERAS, SCAN_SIZE, egg, hi4d_cameras, write_hi4d, write_thuman

from sapiens2.datasets.field_files import read_depth, read_mask, read_normal

pytest.importorskip('trimesh')
pytest.importorskip('embreex')

from sapiens2.datasets.converters.render import Camera, Surface  # noqa: E402
from sapiens2.datasets.converters.thuman import circle  # noqa: E402

def test_a_ball_has_its_depth_and_normals() -> None:
    intrinsics = np.array([[120.0, 0, 30], [0, 110, 50], [0, 0, 1]])
    turn = cv2.Rodrigues(np.array([0.2, 2.5, -0.4]))[0]
    centre = np.array([0.1, -0.2, 3.0])  # camera frame
    translation = np.array([0.3, 0.1, -0.7])
    vertices, faces = egg(tuple(turn.T @ (centre - translation)), (0.8, 0.8, 0.8))
    view = Surface(vertices, faces).view(Camera(intrinsics, turn, translation, SCAN_SIZE))
    rays = np.stack([*np.meshgrid((np.arange(SCAN_SIZE[1]) - 30) / 120, (np.arange(SCAN_SIZE[0]) - 50) / 110),
                     np.ones(SCAN_SIZE)], axis=-1)
    half, square = rays @ centre, (rays * rays).sum(axis=-1)
    root = half**2 - square * (centre @ centre - 0.8**2)
    depth = (half - np.sqrt(np.maximum(root, 0))) / square
    agree = view.mask == (root > 0)
    assert agree.mean() > 0.99
    inner = (root > 0.02) & view.mask
    assert inner.sum() > 2000
    np.testing.assert_allclose(view.depth[inner], depth[inner], atol=6e-3)
    normal = (rays * depth[..., None] - centre) / 0.8
    assert ((view.normal * normal).sum(axis=-1)[inner] > 0.9995).all()


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """Three scans of eggs of height 1 with a texture, one of them without its file, and a mesh that is no scan."""
    write_thuman(tmp_path / 'src')
    (tmp_path / 'src/THuman2.1 Release/0001/material0.jpeg').unlink()
    (tmp_path / 'src/THuman2.1 Release/0525/smplx.obj').write_text('v 0 0 0\n')
    return tmp_path / 'src'


def test_thuman(scans, tmp_path, convert, build_from_command) -> None:
    words = ('--split', 'train', '--views', 4, '--size', 128, 96, '--val-share', 0)
    result = convert('thuman', scans, *words)
    assert result.code == 1 and '0001/material0.jpeg: is missing' in result.messages
    train = tmp_path / 'out/train'
    assert sorted(path.relative_to(train / 'images').as_posix() for path in (train / 'images').rglob('*.png')) == [
        f'{scan}/{angle}_0.png' for scan in ('0000', '0525') for angle in ('000', '090', '180', '270')]
    front, depth = train / 'albedos/0000/000_0.png', read_depth(str(train / 'depths/0000/000_0.npz'), 0.001)
    mask, normal = read_mask(str(train / 'masks/0000/000_0.png')), read_normal(str(train / 'normals/0000/000_0.npz'))
    assert np.array_equal(mask > 0, depth > 0) and np.array_equal(mask > 0, normal.any(axis=-1))
    rows, columns = np.nonzero(mask)
    # The outline is where perspective bends out of sight, so the egg is a little smaller than at its middle.
    intrinsics = json.loads((train / 'cameras/0000/000_0.json').read_text())['K']
    height = np.ptp(rows) / intrinsics[1][1] * np.median(depth[mask > 0])
    assert height == pytest.approx(1.8, rel=0.1)
    assert rows.min() > 2 and columns.min() > 2 and rows.max() < 125 and columns.max() < 93
    albedo = cv2.imread(str(front))
    middle = int(rows.mean())
    assert albedo[middle, columns.min() + 4].argmax() == 2 and albedo[middle, columns.max() - 4].argmax() == 0
    assert albedo[middle, columns.min() + 4].max() == pytest.approx(200, abs=6)
    assert normal[middle, columns.min() + 2, 0] < -0.5 and normal[rows.min() + 2, int(columns.mean()), 1] < -0.5
    assert (normal[..., 2][mask > 0] < 0.2).all()
    for command in result.commands:
        item = build_from_command(command)[1]
        assert item['data_samples'].gt_fields.mask.any()
    again = convert('thuman', scans, *words)
    assert again.code == 1 and '0001/material0' in again.messages
    with pytest.raises(ValueError, match='another folder'):
        convert('thuman', scans, '--split', 'train', '--views', 5, '--size', 128, 96, '--val-share', 0)


def test_a_missing_renderer_is_said_before_any_work(scans, tmp_path, convert, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, 'trimesh', None)
    with pytest.raises(ValueError, match=r'pip install "sapiens2\[render\]"'):
        convert('thuman', scans)
    assert not list((tmp_path / 'out').rglob('*.*'))


def test_circle_keeps_everything_in_view() -> None:
    vertices, _ = egg((3.0, 1.0, -2.0), (0.9, 0.85, 0.2))
    for angle in np.linspace(0, 2 * np.pi, 7):
        camera = circle(vertices, angle, SCAN_SIZE)
        np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(camera.rotation) == pytest.approx(1)
        points = (vertices @ camera.rotation.T + camera.translation) @ camera.intrinsics.T
        pixels = points[:, :2] / points[:, 2:]
        assert (points[:, 2] > 0).all() and (pixels >= 0).all() and (pixels <= np.array(SCAN_SIZE[::-1]) - 1).all()


@pytest.fixture
def sequence(tmp_path: Path) -> Path:
    """Frames 11 to 13 of a pair: outlines drawn by OpenCV's projection; a mask and a mesh are missing."""
    write_hi4d(tmp_path / 'src')
    root = tmp_path / 'src/pair00/dance00'
    for mesh in root.glob('seg/instance/*/mesh-f00013.npz'):
        mesh.unlink()
    (root / 'seg/img_seg_mask/4/all/000012.png').unlink()
    return root


def test_hi4d(sequence, tmp_path, convert, build_from_command) -> None:
    result = convert('hi4d', tmp_path / 'src', '--split', 'train', '--val-share', 0)
    assert result.code == 1
    for words in ('/4/all/000012.png: is missing', 'mesh-f00013.npz: there is no such file'):
        assert words in result.messages
    train = tmp_path / 'out/train'
    names = sorted(path.relative_to(train / 'images').as_posix() for path in (train / 'images').rglob('*.jpg'))
    assert names == [f'pair00/dance00/{name}.jpg' for name in ('16/000011', '16/000012', '4/000011')]
    copied = (train / 'images/pair00/dance00/4/000011.jpg').read_bytes()
    assert copied == (sequence / 'images/4/000011.jpg').read_bytes()
    for camera in HI4D_CAMERAS:
        stem = f'pair00/dance00/{camera}/000011'
        mask, depth = read_mask(str(train / f'masks/{stem}.png')), read_depth(str(train / f'depths/{stem}.npz'), 1)
        picture = cv2.imread(str(train / f'images/{stem}.jpg'))[..., 0] > 127
        both = (mask > 0) & (depth > 0)
        # Half a pixel round the outline, much of a small picture, is open: OpenCV draws it into the hull.
        assert both.sum() > 0.9 * ((mask > 0) | (depth > 0)).sum() and (picture == (mask > 0)).mean() > 0.98
        assert ((read_normal(str(train / f'normals/{stem}.npz'))[both][:, 2]) < 0.2).all()
    for command in result.commands:
        assert len(build_from_command(command)) == 3 and build_from_command(command)[2] is not None


@pytest.mark.parametrize('change, words', [
    (lambda cameras: cameras.update(extrinsics=np.stack([
        np.c_[pose[:, :3].T, -pose[:, :3].T @ pose[:, 3]] for pose in cameras['extrinsics']])), 'from the world to'),
    (lambda cameras: cameras.pop('dist_coeffs'), r'dist_coeffs must have the shape \(2, 5\), it is missing'),
    (lambda cameras: cameras.update(intrinsics=np.zeros((2, 3, 4))), r'intrinsics must have the shape'),
    (lambda cameras: cameras.update(ids=np.array([1, 2])), 'no folder of a camera'),
])
def test_hi4d_says_which_assumption_fails(sequence, tmp_path, convert, change, words) -> None:
    cameras = hi4d_cameras(0.0)
    change(cameras)
    np.savez(sequence / 'cameras/rgb_cameras.npz', **cameras)
    try:
        result = convert('hi4d', tmp_path / 'src', '--split', 'train', '--val-share', 0, '--every', 2)
        messages = result.messages
        assert result.code == 1 and not list((tmp_path / 'out').rglob('*.jpg'))
    except ValueError as error:
        messages = str(error)
    assert re.search(words, messages)
