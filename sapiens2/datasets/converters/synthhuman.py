"""SynthHuman: synthetic people of Microsoft's DAViD, with alpha, depth, normals and camera."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np

from sapiens2.datasets.converters.base import Converter, Item, held_out
from sapiens2.datasets.converters.sources import require
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.exr import read_exr
from sapiens2.datasets.field_files import read_mask
from sapiens2.utils.image_io import read_image
from sapiens2.utils.pinhole import unproject

_NO_DEPTH = 65504.0  # the largest number of half precision, which the authors' viewer takes for no depth
_METRES = 0.01  # the set states centimetres
_PLAUSIBLE = (0.1, 20.0)  # metres, median of a person's depth
# Agreement, a mean cosine, of stored normals with those of the depth; and by how much the best axes must lead.
_LEAST_AGREEMENT, _LEAD = 0.5, 0.05
_JUDGED = 8  # samples on which the axes are judged
_STEEP = 0.02  # of the depth, from one pixel to the next: an edge between surfaces


class SynthHuman(Converter):
    """RGB and alpha are taken over; depth in centimetres becomes metres, normals those of our camera frame.

    Saleh et al., "DAViD: Data-efficient and Accurate Vision Models from Synthetic Data", ICCV 2025. The set does not
    state the axes of its normals: they are found by comparing with the normals of the depth, once, and checked on each
    sample.
    """

    NAME = 'synthhuman'
    TITLE = 'SynthHuman (DAViD)'
    FILES: ClassVar[Mapping[str, str]] = {'normals': '.npz', 'depths': '.npz', 'cameras': '.json', 'masks': '.png',
                                          'images': '.png'}
    OPTIONS: ClassVar[Mapping[str, Any]] = {'val_share': 0.02}

    def items(self, split: str) -> Iterator[Item]:
        """One item an ``rgb_0000000.png``."""
        photographs = sorted(Path(place, name) for place, _, files in os.walk(self.source, followlinks=True)
                             for name in files if name.startswith('rgb_') and name.endswith('.png'))
        if not photographs:
            raise DataError(f'{self.source}: no rgb_0000000.png and so on in it or in a folder below')
        signs = _signs(tuple(photographs))
        for path in photographs:
            number = path.stem.removeprefix('rgb_')
            if held_out(number, self.options['val_share']) == (split == 'val'):
                name = (path.parent.relative_to(self.source) / number).as_posix()
                yield Item(split, (name,), (path, signs))

    def convert(self, item: Item) -> list[str]:
        """Turn one sample into our units and axes."""
        path, signs = item.sources
        normal, depth, intrinsics, mask = _read(path)
        median = float(np.median(depth[mask & (depth > 0)])) if (mask & (depth > 0)).any() else 0.0
        if not _PLAUSIBLE[0] < median < _PLAUSIBLE[1]:
            raise DataError(f'{_partner(path, "depth", ".exr")}: the median depth of the person is {median:.3g} m, '
                            'taking the stored numbers for centimetres')
        agreement = float(_agreement(normal, depth, intrinsics, mask) @ signs)
        if agreement < _LEAST_AGREEMENT:
            raise DataError(f'{_partner(path, "normal", ".exr")}: normals agree with those of the depth by '
                            f'{agreement:.2f} (mean cosine), with the signs {signs.tolist()} of x, y, z that fit '
                            'others')
        sample = self.sample(item, item.names[0])
        sample.array('normals', (normal * signs * mask[..., None]).astype(np.float16))
        sample.array('depths', depth * mask)
        sample.camera(intrinsics)
        sample.take('masks', _partner(path, 'alpha', '.png'))
        sample.take('images', path)
        return []

    def commands(self) -> list[str]:
        """Point maps and normals."""
        return [self.train_command(f'{task}/sapiens2-1b_{task}_folder-1024x768.py') for task in ('pointmap', 'normal')]


def _partner(path: Path, kind: str, ending: str) -> Path:
    return path.with_name(path.stem.replace('rgb', kind, 1) + ending)


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Stored normals (H, W, 3), depth (H, W) in metres, K (3, 3), and where the person is, (H, W) bool."""
    files = {kind: require(_partner(path, kind, ending), f'it belongs to {path}') for kind, ending in (
        ('alpha', '.png'), ('depth', '.exr'), ('normal', '.exr'), ('cam', '.txt'))}
    shape = read_image(path).shape[:2]
    depth, normal = read_exr(str(files['depth']), 1, 'depth')[..., 0], read_exr(str(files['normal']), 3, 'normal')
    mask = read_mask(str(files['alpha'])) > 0
    for kind, field in (('depth', depth), ('normal', normal), ('alpha', mask)):
        if field.shape[:2] != shape:
            raise DataError(f'{files[kind]}: has height, width {field.shape[:2]}, {path} has {shape}')
    try:
        intrinsics = np.loadtxt(files['cam'])
    except ValueError as error:
        raise DataError(f'{files["cam"]}: cannot be read as a matrix: {error}') from error
    if intrinsics.shape != (3, 3) or not (0 < intrinsics[0, 2] < shape[1] and 0 < intrinsics[1, 2] < shape[0]):
        raise DataError(f'{files["cam"]}: must hold f_x 0 c_x, 0 f_y c_y, 0 0 1 in pixels of {shape}, it holds '
                        f'{intrinsics.tolist()}')
    valid = np.isfinite(depth) & (depth > 0) & (depth < _NO_DEPTH)
    normal = np.where(np.isfinite(normal), normal, 0)
    return normal, np.where(valid, depth * _METRES, 0).astype(np.float32), intrinsics, mask


def _agreement(normal: np.ndarray, depth: np.ndarray, intrinsics: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(3,) mean products of the stored normals with those of the depth, axis by axis; their sum is a mean cosine."""
    points = unproject(depth, intrinsics)
    across, down = (cv2.Sobel(points, cv2.CV_32F, *order, ksize=1) / 2 for order in ((1, 0), (0, 1)))
    # Down x across points towards the camera: z is negative there.
    surface = np.cross(down, across)
    length = np.linalg.norm(surface, axis=2)
    near = cv2.erode((mask & (depth > 0)).astype(np.uint8), np.ones((3, 3))) > 0
    smooth = near & (np.maximum(np.abs(across[..., 2]), np.abs(down[..., 2])) < _STEEP * depth) & (length > 0)
    if not smooth.any():
        return np.zeros(3)
    return (normal[smooth] * surface[smooth] / length[smooth][:, None]).mean(axis=0)


@lru_cache(maxsize=1)  # the splits of one folder ask in turn
def _signs(photographs: tuple[Path, ...]) -> np.ndarray:
    """(3,) +1 or -1: what x, y and z of the stored normals are multiplied with to be those of our camera frame.

    Raises:
        DataError: if no signs fit, or more than one.
    """
    readings, faults = [], []
    for path in photographs:
        try:
            readings.append(_agreement(*_read(path)))
        except ImportError as error:
            raise DataError(str(error)) from error
        except ValueError as error:  # named again when the sample itself is converted
            faults.append(error)
        if len(readings) == _JUDGED or len(faults) == _JUDGED:
            break
    if not readings:
        raise faults[0]
    middle = np.median(readings, axis=0)  # one odd sample does not turn it
    ranked = sorted(((float(middle @ signs), signs) for signs in itertools.product((1, -1), repeat=3)), reverse=True)
    (best, signs), (second, _) = ranked[:2]
    if best < _LEAST_AGREEMENT or best - second < _LEAD:
        raise DataError(f'{photographs[0].parent}: the normals of the first samples agree with those of their depth by '
                        f'{best:.2f} (mean cosine) at best, next {second:.2f}, whatever signs x, y and z are given; '
                        'unit vectors in the camera frame, stored from -1 to 1 as XYZ, are expected')
    return np.array(signs)
