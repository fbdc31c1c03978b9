"""Read the files of dense ground truth, one function a field. Every error names the file and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Union

import cv2
import numpy as np

from sapiens2.datasets.array_files import ARRAY_ENDINGS, EXR_ENDING, is_array, read_array
from sapiens2.datasets.coco_segments import CocoSegments
from sapiens2.datasets.errors import DataError, Fault, Kind, raise_first
from sapiens2.datasets.json_files import numbers, read_json
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.rules.fields import length_faults
from sapiens2.utils.image_io import read_labels, read_raster
from sapiens2.utils.suggest import unknown_name

# Endings by which a field's file is found, beside those of arrays.
PICTURE_ENDINGS = ('.png', '.webp', '.tif', '.tiff', '.bmp', '.gif', '.jpg', '.jpeg')
# Metres. Renderers write 1e10 or the like where a ray meets nothing.
_NO_SURFACE = 1e9
# Shorter than this, a stored normal is no direction but a hole or a blend with one.
_SHORTEST_NORMAL = 0.5


def read_sem_seg(path: Union[str, CocoSegments], table: LabelTable) -> np.ndarray:
    """Read (H, W) uint8 labels of a file, or draw them from polygons and run lengths.

    Raises:
        DataError: for values that ``table`` does not allow.
        ImageReadError: if the file is no label map.
    """
    if isinstance(path, CocoSegments):
        return path.draw()
    labels = read_array(path, 'sem_seg') if is_array(path) else read_labels(path)
    if labels.ndim != 2 or labels.dtype.kind not in 'iub':
        raise DataError(Fault(Kind.SHAPE, path, f'sem_seg must be (H, W) integers, this is {labels.dtype} of shape '
                              f'{labels.shape}', 'sem_seg'))
    if labels.min() < 0 or labels.max() > 255:
        raise DataError(Fault(Kind.LABEL_RANGE, path, f'sem_seg holds values from {labels.min()} to {labels.max()}; '
                              f'valid: {table.valid}', 'sem_seg'))
    labels = labels.astype(np.uint8)
    if cv2.LUT(labels, table.wrong).any():
        values = [int(value) for value in np.unique(labels) if table.wrong[value]]
        raise DataError(Fault(Kind.LABEL_RANGE, path, f'sem_seg holds labels {values}; valid: {table.valid}', 'sem_seg',
                              'set label_map of the data set if these are labels of another class set'))
    return cv2.LUT(labels, table.mapped)


def read_normal(path: str) -> np.ndarray:
    """Read (H, W, 3) float32 unit normals, camera frame; zero where there is none.

    A picture holds (n + 1) / 2 of full scale as RGB, with 8 or 16 bits; an array holds n.

    Raises:
        DataError: if many of the stored vectors are not of length 1.
    """
    normal = _three_channels(path, 'normal')
    if normal.dtype.kind == 'u':
        normal = _unit_interval(path, normal, 'normal')
        normal *= 2
        normal -= 1
    with np.errstate(over='ignore'):  # what float32 cannot hold is infinite, and no normal
        normal = normal.astype(np.float32, copy=False)
    raise_first(length_faults(normal, path))
    # OpenCV's operations: NumPy is several times slower where an array of three channels meets one of a single one.
    length = cv2.sqrt(cv2.transform(cv2.multiply(normal, normal), np.ones((1, 3), np.float32)))
    missing = ~np.isfinite(length)
    if missing.any():
        normal, length = np.where(missing[..., None], np.float32(0), normal), np.where(missing, np.float32(0), length)
    inverse = np.where(length > _SHORTEST_NORMAL, 1 / np.maximum(length, _SHORTEST_NORMAL), np.float32(0))
    return cv2.multiply(normal, cv2.merge([inverse.astype(np.float32, copy=False)] * 3))


def read_depth(path: str, unit: float) -> np.ndarray:
    """Read (H, W) float32 depth along the optical axis in metres; zero where there is none.

    An array of floats holds metres; whole numbers, in a 16-bit picture or an array, hold multiples of ``unit`` metres.
    """
    depth = read_array(path, 'depth') if is_array(path) else read_raster(path)
    depth = depth[..., 0] if depth.ndim == 3 and depth.shape[2] == 1 else depth
    if depth.ndim != 2 or depth.dtype.kind not in 'iuf':
        raise DataError(Fault(Kind.SHAPE, path, f'depth must be (H, W) numbers, this is {depth.dtype} of shape '
                              f'{depth.shape}', 'depth'))
    if depth.dtype == np.uint8:
        raise DataError(Fault(Kind.DEPTH_UNIT, path, '8 bits are too few for depth', 'depth',
                              'save whole millimetres in a 16-bit PNG, or metres as npy'))
    metres = depth.astype(np.float32) * (unit if depth.dtype.kind in 'iu' else 1)
    metres[~(np.isfinite(metres) & (metres > 0) & (metres < _NO_SURFACE))] = 0
    return metres


def read_albedo(path: str) -> np.ndarray:
    """Read (H, W, 3) float32 RGB in [0, 1]: a picture of 8 or 16 bits, or an array of floats."""
    stored = _three_channels(path, 'albedo')
    albedo = _unit_interval(path, stored, 'albedo') if stored.dtype.kind == 'u' else stored.astype(np.float32)
    if not (albedo.min() >= 0 and albedo.max() <= 1):  # NaN included
        raise DataError(Fault(Kind.ALBEDO_RANGE, path, 'albedo must lie in [0, 1], this goes from '
                              f'{albedo.min():.3g} to {albedo.max():.3g}', 'albedo',
                              'store 0 where there is none and leave it out of the mask'))
    return albedo


def read_mask(path: str) -> np.ndarray:
    """Read (H, W) uint8, 1 inside.

    One rule for files of all kinds. Of 0 and 1, or false and true, 1 is inside. Other whole numbers are shares of 255
    or, where one is larger, of 65535, and those in the upper half are inside. Floats lie in [0, 1], and those above 0.5
    are inside. Of several channels the largest counts, that of transparency apart.

    Raises:
        DataError: for anything else.
        ImageReadError: if the file is no picture, or one whose values are not exact.
    """
    mask = read_array(path, 'mask') if is_array(path) else read_raster(path, exact=True)
    if mask.ndim == 3 and mask.shape[2] in (2, 4):
        mask = mask[..., :-1]
    mask = mask.max(axis=2) if mask.ndim == 3 else mask
    if mask.ndim != 2:
        raise DataError(Fault(Kind.SHAPE, path, f'mask must be (H, W), this is {mask.shape}', 'mask'))
    largest = 1 if mask.dtype.kind in 'bf' else np.iinfo(np.uint16).max
    if not (mask.min() >= 0 and mask.max() <= largest):  # NaN included
        raise DataError(Fault(Kind.SHAPE, path, f'mask of {mask.dtype} must lie in 0 to {largest}, this goes from '
                              f'{mask.min()} to {mask.max()}', 'mask', 'save 0 and 1, or 0 and 255 in 8 bits'))
    if mask.dtype.kind == 'f':
        return (mask > 0.5).astype(np.uint8)
    full = next(full for full in (1, np.iinfo(np.uint8).max, largest) if mask.max() <= full)
    return (mask > full // 2).astype(np.uint8)


def read_intrinsics(path: str) -> np.ndarray:
    """Read K, (3, 3) float32, pixels of the source image, pixel centres at integers.

    ``.npy`` holds the matrix, ``.npz`` holds it as K, ``.json`` holds the matrix, {"K": matrix}, or fx, fy, cx, cy.

    Raises:
        DataError: if the file does not hold such a matrix.
    """
    if Path(path).suffix.lower() == '.json':
        values = _read_intrinsics_json(path)
    else:
        values = read_array(path, 'K')
    try:
        matrix = numbers(values, np.float32).reshape(3, 3)
    except ValueError as error:
        raise DataError(Fault(Kind.SHAPE, path, 'K must be a 3x3 matrix of numbers', 'K')) from error
    if not np.isfinite(matrix).all() or matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or matrix[1, 0] != 0 \
            or matrix[2].tolist() != [0, 0, 1]:
        raise DataError(Fault(Kind.CAMERA, path, 'K must be [[fx, s, cx], [0, fy, cy], [0, 0, 1]] with fx, fy > 0 in '
                              f'pixels, this is {matrix.tolist()}', 'K'))
    return matrix


# Field -> endings of its files, in order of preference.
FIELD_ENDINGS: dict[str, tuple[str, ...]] = {
    'sem_seg': PICTURE_ENDINGS + ARRAY_ENDINGS,
    'normal': (*ARRAY_ENDINGS, EXR_ENDING, *PICTURE_ENDINGS),
    'depth': (*ARRAY_ENDINGS, EXR_ENDING, *PICTURE_ENDINGS),
    'albedo': (*ARRAY_ENDINGS, EXR_ENDING, *PICTURE_ENDINGS),
    'mask': PICTURE_ENDINGS + ARRAY_ENDINGS,
    'K': ('.json', *ARRAY_ENDINGS),
}


def _read_intrinsics_json(path: str) -> Any:
    values = read_json(path)
    if not isinstance(values, dict) or 'K' in values:
        return values['K'] if isinstance(values, dict) else values
    for key in ('fx', 'fy', 'cx', 'cy'):
        if key not in values:
            raise DataError(Fault(Kind.MISSING_FIELD, path, unknown_name(key, values, 'entry')
                                  + ' Give K, or fx, fy, cx and cy', 'K'))
    return [[values['fx'], 0, values['cx']], [0, values['fy'], values['cy']], [0, 0, 1]]


def _three_channels(path: str, name: str) -> np.ndarray:
    """Read (H, W, 3) of an array or, RGB without alpha, of a picture."""
    if is_array(path):
        stored = read_array(path, name)
    else:
        stored = read_raster(path)
        stored = stored[..., :3] if stored.ndim == 3 and stored.shape[2] == 4 else stored
    if stored.ndim != 3 or stored.shape[2] != 3 or stored.dtype.kind not in 'uf':
        raise DataError(Fault(Kind.SHAPE, path, f'{name} must be (H, W, 3), floats or 8- or 16-bit levels; this is '
                              f'{stored.dtype} of shape {stored.shape}', name))
    return stored


def _unit_interval(path: str, stored: np.ndarray, name: str) -> np.ndarray:
    """Levels of 8 or 16 bits as float32 in [0, 1]."""
    if stored.dtype.kind != 'u' or stored.dtype.itemsize > 2:
        raise DataError(Fault(Kind.SHAPE, path, f'{name} is stored as {stored.dtype}', name,
                              'save 8 or 16 bits, or floats'))
    levels = stored.astype(np.float32)
    levels /= np.float32(np.iinfo(stored.dtype).max)
    return levels


READERS: dict[str, Callable[..., np.ndarray]] = {
    'sem_seg': read_sem_seg, 'normal': read_normal, 'depth': read_depth, 'albedo': read_albedo, 'mask': read_mask,
    'K': read_intrinsics}
