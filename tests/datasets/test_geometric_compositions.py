"""Random chains of geometric steps: transforming then computing equals computing then transforming, for every field.

The scene is analytic: a sphere before a tilted plane. Albedo holds each pixel's place, so that what a chain did is read
from its result, and all other fields are compared with what the scene is at that place.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.pinhole import unproject

HEIGHT, WIDTH = 150, 120
K = np.array([[140, 0, 50], [0, 150, 83], [0, 0, 1]], np.float32)
CENTER, RADIUS = np.array([0.1, -0.2, 3.0]), 0.8
PLANE, OFFSET = np.array([0.2, -0.3, -1.0]) / np.linalg.norm([0.2, -0.3, -1.0]), -4.0  # PLANE . x = OFFSET
SIDES = load_metainfo('seg29')['flip_pairs']
POINTS = np.array([[30, 40], [80, 60], [60, 100], [40, 120], [95, 30]], np.float32)
SEEDS = range(14)


def cast(place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth (N,), unit normals (N, 3) and whether it is the sphere (N,), seen at pixels ``place`` (N, 2)."""
    rays = np.insert(place.astype(np.float64), 2, 1, axis=1) @ np.linalg.inv(K.astype(np.float64)).T
    plane = OFFSET / (rays @ PLANE)
    square, half = (rays * rays).sum(1), rays @ CENTER
    root = half * half - square * (CENTER @ CENTER - RADIUS**2)
    ball = root > 0
    depth = np.where(ball, (half - np.sqrt(np.maximum(root, 0))) / square, plane)
    normal = np.where(ball[:, None], (rays * depth[:, None] - CENTER) / RADIUS, PLANE)
    return depth, normal, ball


def scene() -> Results:
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    depth, normal, ball = cast(np.stack([columns, rows], axis=-1).reshape(-1, 2))
    image = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    for number, (x, y) in enumerate(POINTS):
        dot = np.exp(-((columns - x)**2 + (rows - y)**2) / 18)
        image[..., number % 3] = np.maximum(image[..., number % 3], 255 * dot)
    left, right = SIDES[0]
    return {
        'sample_id': 'scene', 'flip': False, 'img': image,
        'sem_seg': np.where(columns < 60, left, right).astype(np.uint8),
        'normal': normal.reshape(HEIGHT, WIDTH, 3).astype(np.float32),
        'depth': depth.reshape(HEIGHT, WIDTH).astype(np.float32),
        'albedo': np.stack([columns, rows, np.ones_like(rows)], axis=-1),
        'mask': ball.reshape(HEIGHT, WIDTH).astype(np.uint8),
        'K': K, 'keypoints': POINTS[None], 'keypoints_visible': np.ones((1, len(POINTS)), np.float32),
        'bboxes': np.array([[25, 25, 100, 125]], np.float32),
        'dataset_meta': {'flip_pairs': SIDES, 'flip_indices': [0, 1, 2, 3, 4]},
    }


STEPS = (
    lambda rng: dict(type='RandomScale', ratio_range=(0.7, 2.0)),
    lambda rng: dict(type='RandomAreaCrop', area_range=(0.5, 1.0)),
    lambda rng: dict(type='RandomFlip', prob=1.0),
    lambda rng: dict(type='RandomRotate', degree=50, prob=1.0, seg_pad_val=0),
    lambda rng: dict(type='Resize', size=tuple(map(int, rng.integers(90, 260, 2)))),
    lambda rng: dict(type='Resize', size=tuple(map(int, rng.integers(120, 260, 2))), keep_ratio=True),
    lambda rng: dict(type='RandomResize', size=(160, 120), ratio_range=(0.8, 1.5)),
    lambda rng: dict(type='RandomCrop', size=tuple(map(int, rng.integers(90, 160, 2)))),
    lambda rng: dict(type='DownUpSample', scale_range=(0.7, 0.9)),
)


def compose(seed: int, count: int = 5) -> Results:
    """The scene after a random chain."""
    rng = np.random.default_rng(seed)
    np.random.seed(seed)
    results = scene()
    for choice in rng.integers(0, len(STEPS), count):
        results = TRANSFORMS.build(STEPS[choice](rng)).transform(results)
    return results


def places(results: Results) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 2) of the result, and where in the scene's picture (N, 2) they come from.

    Those at the border of what was cut or padded are left out: nothing is interpolated beyond the last pixel.
    """
    place = results['albedo'][..., :2]
    inside = (results['albedo'][..., 2] > 0.9999) & (place > 3).all(-1) & (place < [WIDTH - 4, HEIGHT - 4]).all(-1)
    inside = cv2.erode(inside.astype(np.uint8), np.ones((7, 7)), borderType=cv2.BORDER_CONSTANT, borderValue=0) > 0
    rows, columns = np.nonzero(inside)
    return np.stack([columns, rows], axis=1), place[inside].astype(np.float64)


def turn_of(results: Results, pixels: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """The orthogonal (3, 3) that takes the rays of the old pixels to those of the new ones."""
    def rays(camera: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.insert(points, 2, 1, axis=1) @ np.linalg.inv(camera.astype(np.float64)).T

    new, old = rays(results['K'], pixels), rays(K, origin)
    turn = np.eye(3)
    turn[:2, :2] = np.linalg.lstsq(old[:, :2], new[:, :2], rcond=None)[0].T
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=4e-3)
    left, _, right = np.linalg.svd(turn)
    np.testing.assert_allclose(old @ (left @ right).T, new, atol=3e-3)
    assert (np.linalg.det(turn) < 0) == results['flip']
    return left @ right


@pytest.fixture(params=SEEDS, scope='module')
def composed(request: pytest.FixtureRequest) -> tuple[Results, np.ndarray, np.ndarray]:
    results = compose(request.param)
    pixels, origin = places(results)
    assert len(pixels) > 2000
    return results, pixels, origin


def near(points: np.ndarray, edge: np.ndarray, radius: int = 3) -> np.ndarray:
    """Which of ``points`` (N, 2) of the scene lie within some pixels of an ``edge`` (H, W) bool."""
    wide = cv2.dilate(edge.astype(np.uint8), np.ones((2 * radius + 1,) * 2)) > 0
    columns, rows = np.round(points).astype(int).T
    return wide[rows, columns]


def outline() -> np.ndarray:
    mask = scene()['mask']
    return cv2.morphologyEx(mask, cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0


def test_points_of_the_new_camera_are_the_turned_old_ones(composed: Any) -> None:
    results, pixels, origin = composed
    turn = turn_of(results, pixels, origin)
    depth, _, ball = cast(origin)
    expected = np.insert(origin, 2, 1, axis=1) @ np.linalg.inv(K).T * depth[:, None] @ turn.T
    got = unproject(results['depth'], results['K'])[pixels[:, 1], pixels[:, 0]]
    smooth = ~near(origin, outline(), 6)
    # Depth is that of the nearest pixel, so on a slope it is off by some of what one pixel changes.
    np.testing.assert_allclose(got[smooth & ~ball], expected[smooth & ~ball], atol=0.04)
    np.testing.assert_allclose(got[smooth & ball], expected[smooth & ball], atol=0.08)
    # Seen by the new camera, the points are where they are stored.
    seen = got @ results['K'].T
    np.testing.assert_allclose(seen[:, :2] / seen[:, 2:], pixels, atol=1e-2)


def test_normals_turn_with_the_camera(composed: Any) -> None:
    results, pixels, origin = composed
    turn = turn_of(results, pixels, origin)
    smooth = ~near(origin, outline(), 6)
    normal = results['normal'][pixels[:, 1], pixels[:, 0]][smooth]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    _, expected, _ = cast(origin[smooth])
    cosine = (normal * (expected @ turn.T)).sum(1)
    assert cosine.min() > 0.995, cosine.min()


def test_normals_of_the_new_point_map_are_the_new_normals(composed: Any) -> None:
    """The frame of the normals is that of the points: x right, y down, z forward, facing the camera."""
    results, pixels, origin = composed
    albedo = results['albedo']
    shape = albedo.shape[:2]
    depth, _, _ = cast(albedo[..., :2].reshape(-1, 2))
    points = unproject(depth.reshape(shape).astype(np.float32), results['K']).astype(np.float64)
    normal = np.cross(np.gradient(points, axis=0), np.gradient(points, axis=1))
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-9)
    stored = results['normal'] / np.maximum(np.linalg.norm(results['normal'], axis=-1, keepdims=True), 1e-9)
    inner = ~near(origin, outline(), 6)
    cosine = (normal * stored).sum(-1)[pixels[inner, 1], pixels[inner, 0]]
    assert inner.sum() > 1000 and np.quantile(cosine, 0.01) > 0.98 and np.median(cosine) > 0.999


def test_labels_and_masks_are_those_of_the_place(composed: Any) -> None:
    results, pixels, origin = composed
    before = scene()
    columns, rows = np.round(origin).astype(int).T
    label = before['sem_seg'][rows, columns]
    if results['flip']:
        label = np.where(label == SIDES[0][0], SIDES[0][1], SIDES[0][0])
    clear = ~near(origin, outline()) & (np.abs(origin[:, 0] - 59.5) > 3)
    assert (results['sem_seg'][pixels[:, 1], pixels[:, 0]] == label)[clear].all()
    assert (results['mask'][pixels[:, 1], pixels[:, 0]] == before['mask'][rows, columns])[clear].all()


def test_key_points_stay_on_their_dots(composed: Any) -> None:
    results, _, _ = composed
    height, width = results['img_shape']
    assert results['img'].shape[:2] == (height, width)
    found = 0
    for number, (x, y) in enumerate(results['keypoints'][0]):
        reach = 12
        if not (reach < x < width - reach and reach < y < height - reach):
            continue
        left, top = round(float(x)) - reach, round(float(y)) - reach
        part = results['img'][top:top + 2 * reach + 1, left:left + 2 * reach + 1, number % 3].astype(float)
        part *= part > part.max() / 2
        if part.max() < 60 or part[0].any() or part[-1].any() or part[:, 0].any() or part[:, -1].any():
            continue  # cut off, or grown out of the window
        rows, columns = np.mgrid[:len(part), :len(part)]
        np.testing.assert_allclose([(part * columns).sum() / part.sum() + left, (part * rows).sum() / part.sum() + top],
                                   [x, y], atol=0.6)
        found += 1
    x1, y1, x2, y2 = results['bboxes'][0]
    points = results['keypoints'][0]
    assert ((points >= [x1 - 1e-3, y1 - 1e-3]) & (points <= [x2 + 1e-3, y2 + 1e-3])).all()
    assert found


def test_outside_has_the_values_of_the_table(composed: Any) -> None:
    results, _, _ = composed
    outside = results['albedo'][..., 2] == 0
    for name, values in {'sem_seg': (0, 255), 'depth': (0,), 'mask': (0,)}.items():
        assert np.isin(results[name][outside], values).all(), name
    assert not results['normal'][outside].any()


@pytest.mark.parametrize('seed', range(4))
def test_a_chain_and_its_mirror_image(seed: int) -> None:
    """Mirroring before and after a chain that treats both sides alike is the chain."""
    rng = np.random.default_rng(seed)
    flip, resize = dict(type='RandomFlip', prob=1), dict(type='Resize', size=tuple(map(int, rng.integers(90, 240, 2))))
    plain, twice = scene(), scene()
    plain = TRANSFORMS.build(resize).transform(plain)
    for step in (flip, resize, flip):
        twice = TRANSFORMS.build(step).transform(twice)
    for name, value in plain.items():
        if isinstance(value, np.ndarray):
            # A nearest pixel may be a tie.
            close = np.isclose(twice[name].astype(float), value.astype(float), atol=1.01 if name == 'img' else 1e-3)
            assert close.mean() > 0.97, name
    assert not twice['flip']
