"""THuman, Hi4D and the renderer, on spheres and egg shapes, whose depth, normals and outlines are known."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sapiens2.datasets.field_files import read_depth, read_mask, read_normal

trimesh = pytest.importorskip('trimesh')
pytest.importorskip('embreex')

from sapiens2.datasets.converters.render import Camera, Surface  # noqa: E402
from sapiens2.datasets.converters.thuman import circle  # noqa: E402

SIZE = (96, 72)  # (H, W), pixels


def egg(centre: tuple[float, float, float], axes: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of an ellipsoid."""
    ball = trimesh.creation.icosphere(subdivisions=4)
    return np.asarray(ball.vertices) * axes + centre, np.asarray(ball.faces)


def test_a_ball_has_its_depth_and_normals() -> None:
    intrinsics = np.array([[120.0, 0, 30], [0, 110, 50], [0, 0, 1]])
    turn = cv2.Rodrigues(np.array([0.2, 2.5, -0.4]))[0]
    centre = np.array([0.1, -0.2, 3.0])  # camera frame
    translation = np.array([0.3, 0.1, -0.7])
    vertices, faces = egg(tuple(turn.T @ (centre - translation)), (0.8, 0.8, 0.8))
    view = Surface(vertices, faces).view(Camera(intrinsics, turn, translation, SIZE))
    rays = np.stack([*np.meshgrid((np.arange(SIZE[1]) - 30) / 120, (np.arange(SIZE[0]) - 50) / 110),
                     np.ones(SIZE)], axis=-1)
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
    root = tmp_path / 'src/THuman2.1 Release'
    vertices, faces = egg((0.2, 0.4, -0.1), (0.2, 0.5, 0.15))
    rows = [f'v {x:.6f} {y:.6f} {z:.6f}' for x, y, z in vertices]
    # Red where u is small, that is for small x, which a camera at +z sees on the left.
    rows += [f'vt {0.25 + 0.5 * (x - 0.0) / 0.4:.6f} {y:.6f}' for x, y, _ in vertices]
    rows += ['f ' + ' '.join(f'{corner + 1}/{corner + 1}' for corner in face) for face in faces]
    texture = np.zeros((64, 64, 3), np.uint8)
    texture[:, :32, 2], texture[:, 32:, 0] = 200, 200
    for name in ('0000', '0001', '0525'):
        (root / name).mkdir(parents=True)
        (root / name / f'{name}.obj').write_text('\n'.join(['mtllib material0.mtl', 'usemtl material0', *rows]) + '\n')
        (root / name / 'material0.mtl').write_text('newmtl material0\nmap_Kd material0.jpeg\n')
        if name != '0001':
            cv2.imwrite(str(root / name / 'material0.jpeg'), texture, [cv2.IMWRITE_JPEG_QUALITY, 100])
    (root / '0525/smplx.obj').write_text('v 0 0 0\n')
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
        camera = circle(vertices, angle, SIZE)
        np.testing.assert_allclose(camera.rotation @ camera.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(camera.rotation) == pytest.approx(1)
        points = (vertices @ camera.rotation.T + camera.translation) @ camera.intrinsics.T
        pixels = points[:, :2] / points[:, 2:]
        assert (points[:, 2] > 0).all() and (pixels >= 0).all() and (pixels <= np.array(SIZE[::-1]) - 1).all()


CAMERA_IDS = (4, 16)
PEOPLE = [egg((-0.25, 0.9, 0.0), (0.25, 0.9, 0.2)), egg((0.3, 0.85, 0.1), (0.3, 0.85, 0.25))]


def hi4d_cameras(distortion: float) -> dict[str, np.ndarray]:
    """Two cameras, level and turned by a third of a circle; the second bends straight lines."""
    found = [circle(np.concatenate([vertices for vertices, _ in PEOPLE]), angle, SIZE) for angle in (0.3, 2.4)]
    return {'ids': np.array(CAMERA_IDS), 'intrinsics': np.stack([camera.intrinsics for camera in found]),
            'extrinsics': np.stack([np.c_[camera.rotation, camera.translation] for camera in found]),
            'dist_coeffs': np.array([[0.0] * 5, [distortion, 0, 0, 0, 0]])}


@pytest.fixture
def sequence(tmp_path: Path) -> Path:
    """Frames 11 to 13 of a pair: outlines drawn by OpenCV's projection; a mask and a mesh are missing."""
    root = tmp_path / 'src/pair00/dance00'
    cameras = hi4d_cameras(-0.6)
    (root / 'cameras').mkdir(parents=True)
    np.savez(root / 'cameras/rgb_cameras.npz', **cameras)
    np.savez(root / 'meta.npz', start=11, end=13)
    for frame in (11, 12, 13):
        for number, (vertices, faces) in enumerate(PEOPLE):
            path = root / f'seg/instance/{number}/mesh-f{frame:05d}.npz'
            path.parent.mkdir(parents=True, exist_ok=True)
            if frame != 13:
                np.savez(path, vertices=vertices, faces=faces)
        for i, camera in enumerate(CAMERA_IDS):
            image = root / f'images/{camera}/{frame:06d}.jpg'
            mask = root / f'seg/img_seg_mask/{camera}/all/{frame:06d}.png'
            drawn = np.zeros(SIZE, np.uint8)
            for vertices, _ in PEOPLE:
                points = cv2.projectPoints(vertices, cv2.Rodrigues(cameras['extrinsics'][i][:, :3])[0],
                                           cameras['extrinsics'][i][:, 3], cameras['intrinsics'][i],
                                           cameras['dist_coeffs'][i])[0]
                cv2.fillConvexPoly(drawn, cv2.convexHull(points.round().astype(np.int32)), 255)
            for path in (image, mask):
                path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(image), np.dstack([drawn] * 3))
            if (frame, camera) != (12, 4):
                cv2.imwrite(str(mask), drawn)
    return root


def test_hi4d(sequence, tmp_path, convert, build_from_command) -> None:
    result = convert('hi4d', tmp_path / 'src', '--split', 'train', '--val-share', 0)
    assert result.code == 1
    assert '/4/all/000012.png: is missing' in result.messages and 'mesh-f00013.npz: there is no such file' in result.messages
    train = tmp_path / 'out/train'
    names = sorted(path.relative_to(train / 'images').as_posix() for path in (train / 'images').rglob('*.jpg'))
    assert names == [f'pair00/dance00/{name}.jpg' for name in ('16/000011', '16/000012', '4/000011')]
    copied = (train / 'images/pair00/dance00/4/000011.jpg').read_bytes()
    assert copied == (sequence / 'images/4/000011.jpg').read_bytes()
    for camera in CAMERA_IDS:
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
