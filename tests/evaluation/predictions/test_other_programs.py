"""Predictions in the files that MoGe, UniDepth and DAViD write, made of a known truth, are measured as perfect.

Names, kinds and axes are those of the programs themselves: ``moge/scripts/infer.py``, ``infer_baseline.py`` and
``moge/utils/vis.py`` of MoGe, ``unidepth/models/unidepthv2/unidepthv2.py`` of UniDepth, ``runtime/`` of DAViD.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from prediction_checks import Measure
from tiny_data import SIZE, write_data

from sapiens2.evaluation.functional.alignment import DEPTH_FITS, NONE, POINT_FITS
from sapiens2.evaluation.predictions import CONVENTIONS
from sapiens2.utils import choices

# K of the samples of ``write_data``, pixel centres at integers.
CAMERA = np.array([[70.0, 0, 29.5], [0, 70.0, 39.5], [0, 0, 1]], np.float32)
PERFECT_M, SHIFTED_M = 1e-4, 0.01


def truth(root: Path, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth (H, W), points (H, W, 3), metres, x right, y down, z forward, and the mask (H, W) of a sample."""
    depth = np.load(root / f'val/depths/{number}.npy')
    rows, columns = np.indices(SIZE, dtype=np.float32)
    points = np.stack([(columns - 29.5) / 70 * depth, (rows - 39.5) / 70 * depth, depth], axis=-1)
    return depth, points, cv2.imread(str(root / f'val/masks/{number}.png'), cv2.IMREAD_UNCHANGED) > 0


def write_exr(path: Path, array: np.ndarray) -> None:
    """As OpenCV's writer does: R, G, B, or Y for a single channel, in single precision, ZIP."""
    OpenEXR = pytest.importorskip('OpenEXR')
    planes = {'Y': array} if array.ndim == 2 else dict(zip('RGB', np.moveaxis(array, -1, 0)))
    header = dict(compression=OpenEXR.ZIP_COMPRESSION, type=OpenEXR.scanlineimage)
    OpenEXR.File(header, {name: np.ascontiguousarray(plane, np.float32) for name, plane in planes.items()}
                 ).write(str(path))


def write_moge(folder: Path, points: np.ndarray, mask: np.ndarray, normal: np.ndarray | None = None) -> None:
    """``moge infer --maps``: infinite outside the mask."""
    folder.mkdir(parents=True)
    masked = np.where(mask[..., None], points, np.inf)
    write_exr(folder / 'points.exr', masked)
    write_exr(folder / 'depth.exr', masked[..., 2])
    cv2.imwrite(str(folder / 'mask.png'), (mask * 255).astype(np.uint8))
    for name in ('image.jpg', 'depth_vis.png'):
        cv2.imwrite(str(folder / name), np.zeros((*SIZE, 3), np.uint8))
    (folder / 'fov.json').write_text(json.dumps({'fov_x': 46.4, 'fov_y': 59.49}), encoding='utf-8')
    if normal is not None:
        shown = np.where(mask[..., None], normal, 0) * [0.5, -0.5, -0.5] + 0.5
        cv2.imwrite(str(folder / 'normal.png'), (shown.clip(0, 1) * 255).astype(np.uint8)[..., ::-1])


@pytest.fixture
def geometry(tmp_path: Path) -> tuple[Path, Path]:
    """A data set of point maps, and a folder for predictions."""
    write_data('pointmap', tmp_path / 'data')
    (tmp_path / 'predicted').mkdir()
    return tmp_path / 'data', tmp_path / 'predicted'


def write_all(root: Path, write: Callable[[int, np.ndarray, np.ndarray, np.ndarray], None]) -> None:
    for number in range(4):
        write(number, *truth(root, number))


def test_maps_of_moge(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry
    write_all(root, lambda number, depth, points, mask: write_moge(predicted / f'{number}', points, mask))
    figures = measure('pointmap', root, predicted, '--convention', 'moge')
    assert figures['pointmap/l2_m'] < PERFECT_M and figures['depth/abs_rel'] < PERFECT_M
    assert figures['predictions/images'] == 4 and figures['predictions/missing_pixels'] == 0


def test_depth_of_moge_with_the_camera_of_the_data(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry
    write_all(root, lambda number, depth, points, mask: write_moge(predicted / f'{number}', points, mask))
    figures = measure('pointmap', root, predicted, '--convention', 'moge', '--ending', '/depth.exr', '--true-camera')
    assert figures['pointmap/l2_m'] < PERFECT_M


def test_first_moge_up_to_scale(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry
    write_all(root, lambda number, depth, points, mask: write_moge(predicted / f'{number}', points * 0.4, mask))
    assert measure('pointmap', root, predicted, '--convention', 'moge')['pointmap/l2_m'] > 0.5
    aligned = measure('pointmap', root, predicted, '--convention', 'moge', '--align', 'scale')
    assert aligned['pointmap/l2_m'] < PERFECT_M


def test_a_hole_in_moges_mask_is_named_or_counted(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry

    def write(number: int, depth: np.ndarray, points: np.ndarray, mask: np.ndarray) -> None:
        mask[20:22, 20:25] = False
        write_moge(predicted / f'{number}', points, mask)

    write_all(root, write)
    assert 'has no value at 10 pixels' in measure.fails('pointmap', root, predicted, '--convention', 'moge')
    figures = measure('pointmap', root, predicted, '--convention', 'moge', '--missing', 'skip')
    assert figures['predictions/missing_pixels'] == 40 and figures['pointmap/l2_m'] < PERFECT_M


def test_arrays_of_moge(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry
    normalised = CAMERA / np.array([[60], [80], [1]], np.float32)
    write_all(root, lambda number, depth, points, mask: np.savez(
        predicted / f'{number}.npz', points=np.where(mask[..., None], points, np.inf).astype(np.float32),
        depth=np.where(mask, depth, np.inf), mask=mask, intrinsics=normalised))
    assert measure('pointmap', root, predicted, '--convention', 'moge')['pointmap/l2_m'] < PERFECT_M


def test_files_of_moges_wrapper_of_other_networks(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry

    def write(number: int, depth: np.ndarray, points: np.ndarray, mask: np.ndarray) -> None:
        (predicted / f'{number}').mkdir()
        write_exr(predicted / f'{number}/points_metric.exr', points)
        write_exr(predicted / f'{number}/depth_metric.exr', depth)

    write_all(root, write)
    figures = measure('pointmap', root, predicted, '--convention', 'opencv', '--ending', '/points_metric.exr')
    assert figures['pointmap/l2_m'] < PERFECT_M


@pytest.mark.parametrize('as_arrays', [False, True])
def test_normals_of_moge(as_arrays: bool, tmp_path: Path, measure: Measure) -> None:
    """Pictures hold y up and z to the viewer, arrays y down and z forward."""
    root, predicted = tmp_path / 'data', tmp_path / 'predicted'
    write_data('normal', root)
    predicted.mkdir()
    for number in range(4):
        normal = np.load(root / f'val/normals/{number}.npy')
        mask = cv2.imread(str(root / f'val/masks/{number}.png'), cv2.IMREAD_UNCHANGED) > 0
        if as_arrays:
            np.savez(predicted / f'{number}.npz', normal=np.where(mask[..., None], normal, 0), mask=mask,
                     points=np.zeros((*SIZE, 3), np.float32), depth=np.zeros(SIZE, np.float32))
        else:
            write_moge(predicted / f'{number}', np.ones((*SIZE, 3), np.float32), mask, normal)
    figures = measure('normal', root, predicted, '--convention', 'moge')
    assert figures['normal/mean_deg'] < (0.05 if as_arrays else 0.5)  # of 8 bits, cut off and not rounded


@pytest.mark.parametrize('batch', [False, True])
def test_points_of_unidepth(batch: bool, geometry: tuple[Path, Path], measure: Measure) -> None:
    """Its intrinsics are guesses, whatever it was told, so they are not looked at."""
    root, predicted = geometry

    def write(number: int, depth: np.ndarray, points: np.ndarray, mask: np.ndarray) -> None:
        arrays = dict(points=points.transpose(2, 0, 1).astype(np.float32), depth=depth[None], confidence=depth[None],
                      radius=np.linalg.norm(points, axis=-1)[None], rays=points.transpose(2, 0, 1),
                      intrinsics=CAMERA * 2)
        np.savez(predicted / f'{number}.npz', **{
            name: array[None] if batch else array for name, array in arrays.items()})

    write_all(root, write)
    assert measure('pointmap', root, predicted, '--convention', 'unidepth')['pointmap/l2_m'] < PERFECT_M


def test_depth_and_intrinsics_of_unidepth(geometry: tuple[Path, Path], measure: Measure) -> None:
    """Its camera counts the centre of the first pixel as 0.5, which is 7 to 21 mm at these distances."""
    root, predicted = geometry
    camera = CAMERA + np.array([[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0]], np.float32)
    write_all(root, lambda number, depth, points, mask: np.savez(
        predicted / f'{number}.npz', depth=depth[None, None], intrinsics=camera[None]))
    assert measure('pointmap', root, predicted, '--convention', 'unidepth')['pointmap/l2_m'] < PERFECT_M
    for number in range(4):
        np.savez(predicted / f'{number}.npz', depth=np.load(root / f'val/depths/{number}.npy'), intrinsics=CAMERA)
    assert measure('pointmap', root, predicted, '--convention', 'unidepth')['pointmap/l2_m'] > SHIFTED_M


@pytest.mark.parametrize('sign', [-1, 1])
@pytest.mark.parametrize('align', ['scale-shift', 'scale-shift-l1'])
def test_depth_of_david(sign: int, align: str, geometry: tuple[Path, Path], measure: Measure) -> None:
    """``is_inverse`` turns the sign over, which is fitted, too."""
    root, predicted = geometry
    write_all(root, lambda number, depth, points, mask: np.savez(
        predicted / f'{number}.npz', depth=sign * (depth - 1.5) / 3, foreground=mask.astype(np.float32),
        normal=np.zeros((*SIZE, 3), np.float32)))
    figures = measure('pointmap', root, predicted, '--convention', 'david', '--align', align, '--true-camera')
    assert figures['depth/abs_rel'] < 1e-3 and figures['pointmap/l2_m'] < 1e-3
    said = measure.fails('pointmap', root, predicted, '--convention', 'david')
    assert 'not metric; give --align scale-shift or scale-shift-l1' in said


def test_depth_array_of_david(geometry: tuple[Path, Path], measure: Measure) -> None:
    root, predicted = geometry
    write_all(root, lambda number, depth, points, mask: np.save(predicted / f'{number}.npy', -(depth - 1.5) / 3))
    figures = measure('pointmap', root, predicted, '--convention', 'david', '--align', 'scale-shift')
    assert figures['depth/abs_rel'] < 1e-3 and 'pointmap/l2_m' not in figures


def test_names_that_the_command_offers() -> None:
    assert tuple(CONVENTIONS) == choices.CONVENTIONS
    assert {NONE, *DEPTH_FITS, *POINT_FITS} == set(choices.ALIGNMENTS)
