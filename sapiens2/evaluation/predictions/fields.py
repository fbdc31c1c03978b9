"""Reads one prediction of a dense task as the fields that its metric compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np
import torch
from mmengine.structures import BaseDataElement
from torch import Tensor

from sapiens2.datasets.array_files import EXR_ENDING, is_array, read_array
from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.exr import read_exr
from sapiens2.datasets.field_files import read_albedo, read_depth, read_normal, read_sem_seg
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.numpy_files import open_numpy
from sapiens2.evaluation.predictions.conventions import INVERSE, METRES, NEGATED, Convention
from sapiens2.utils.image_io import read_raster
from sapiens2.utils.pinhole import unproject
from sapiens2.utils.srgb import linear
from sapiens2.utils.suggest import unknown_name


def read_fields(path: str, task: str, convention: Convention, depth_unit: float = 0.001,
                labels: Optional[LabelTable] = None, intrinsics: Optional[np.ndarray] = None) -> dict[str, Tensor]:
    """Fields of ``pred_fields``, in the frame and units of ``DataSample``; NaN where there is no prediction.

    Args:
        path: of the file.
        task: 'seg', 'normal', 'albedo' or 'pointmap'.
        convention: how it is stored.
        depth_unit: metres of one step of depth that is stored as whole numbers.
        labels: for 'seg', what becomes of stored labels.
        intrinsics: K (3, 3), pixels, of depth that is stored without its own.

    Returns:
        'sem_seg' (H, W) int64; 'normal' or 'albedo' (3, H, W); 'pointmap' (3, H, W); or 'depth' or 'disparity'
        (1, H, W), with 'K' (3, 3) and, for metric depth, 'pointmap' where K is known.

    Raises:
        DataError, ImageReadError: naming the file.
    """
    if task == 'seg':
        return {'sem_seg': torch.from_numpy(read_sem_seg(path, labels).astype(np.int64))}
    if task == 'normal':
        normal = read_normal(path)
        normal[~normal.any(axis=-1)] = np.nan
        axes = convention.axes if is_array(path) else convention.picture_axes or convention.axes
        return {'normal': _channels_first(normal * np.array(axes, np.float32))}
    if task == 'albedo':
        albedo = read_albedo(path)
        return {'albedo': _channels_first(linear(albedo) if convention.srgb else albedo)}
    stored, stored_intrinsics = _geometry(path, convention)
    if stored is not None:
        return {'pointmap': _channels_first(stored * np.array(convention.axes, np.float32))}
    depth = _depth(path, convention, depth_unit)
    matrix = intrinsics if stored_intrinsics is None else stored_intrinsics
    fields = {'disparity' if convention.depth == INVERSE else 'depth': torch.from_numpy(depth)[None]}
    if matrix is None:
        return fields
    fields['K'] = torch.from_numpy(matrix.astype(np.float32))
    if convention.depth == METRES:
        fields['pointmap'] = _channels_first(unproject(depth, matrix))
    return fields


def _geometry(path: str, convention: Convention) -> tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    """Points (H, W, 3), None where the file holds depth; and K (3, 3), None where it holds none."""
    if path.lower().endswith(EXR_ENDING):
        try:
            return read_exr(path, channels=3, layer='points'), None
        except DataError as error:
            if error.fault.kind is not Kind.MISSING_FIELD:
                raise
            return None, None
    if not is_array(path):
        return None, None
    if path.lower().endswith('.npy'):
        array = read_array(path, 'pointmap')
        return (_points(path, array) if _is_points(array) else None), None
    with open_numpy(path) as arrays:
        names = arrays.files
        key = _name_in(path, names, convention)
        array = arrays[key]
        matrix = next((arrays[name] for name in ('K', convention.camera) if name in names), None)
    if matrix is not None:
        matrix = np.squeeze(matrix)
        if matrix.shape != (3, 3):
            raise DataError(Fault(Kind.SHAPE, path, f'K must be (3, 3), this is {matrix.shape}', 'K'))
        matrix = matrix.astype(np.float64)
        matrix[:2, 2] -= convention.pixel_centre
        matrix = matrix if np.isfinite(matrix).all() else None
    return (_points(path, array) if _is_points(array) else None), matrix


def _name_in(path: str, names: list[str], convention: Convention) -> str:
    name = next((name for name in convention.names if name in names), names[0] if len(names) == 1 else None)
    if name is None:
        raise DataError(Fault(Kind.MISSING_FIELD, path, unknown_name(convention.names[0], names, 'array')
                              + f' Expected is one of {", ".join(convention.names)}', convention.names[0]))
    return name


def _is_points(array: np.ndarray) -> bool:
    array = array[0] if array.ndim == 4 and len(array) == 1 else array
    return array.ndim == 3 and (array.shape[-1] == 3 or array.shape[0] == 3)


def _points(path: str, array: np.ndarray) -> np.ndarray:
    """(H, W, 3) float32; (3, H, W) and an axis of one image, as torch gives them, are taken too."""
    array = array[0] if array.ndim == 4 else array
    if array.dtype.kind != 'f':
        raise DataError(Fault(Kind.SHAPE, path, f'points must be floats, these are {array.dtype}', 'pointmap'))
    return (array if array.shape[-1] == 3 else array.transpose(1, 2, 0)).astype(np.float32)


def _depth(path: str, convention: Convention, unit: float) -> np.ndarray:
    """(H, W) float32: metres, or values of the kind of the convention; NaN where there is none."""
    if path.lower().endswith('.npz'):
        with open_numpy(path) as arrays:
            depth = arrays[_name_in(path, arrays.files, convention)]
    elif convention.depth == METRES and not path.lower().endswith('.npy'):
        depth = read_depth(path, unit)
        return np.where(depth > 0, depth, np.float32(np.nan))
    else:
        depth = read_array(path, 'depth') if is_array(path) else read_raster(path)
    depth = np.squeeze(depth)
    if depth.ndim != 2 or depth.dtype.kind not in 'iuf':
        raise DataError(Fault(Kind.SHAPE, path, f'depth must be (H, W) numbers, this is {depth.dtype} of shape '
                              f'{depth.shape}', 'depth'))
    if depth.dtype.kind in 'iu':
        if convention.depth == METRES and depth.dtype == np.uint8:
            raise DataError(Fault(Kind.DEPTH_UNIT, path, '8 bits are too few for depth', 'depth',
                                  'save whole millimetres in 16 bits, or metres as floats'))
        depth = depth.astype(np.float32) * (unit if convention.depth == METRES else 1)
    depth = depth.astype(np.float32)
    depth = -depth if convention.depth == NEGATED else depth
    hole = ~np.isfinite(depth) | (depth <= 0 if convention.depth == METRES else False)
    return np.where(hole, np.float32(np.nan), depth)


def _channels_first(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1), dtype=np.float32))


def without_holes(pred: Mapping[str, Tensor], truth: BaseDataElement) -> tuple[Tensor, int]:
    """The truth's mask (1, H, W) without the pixels that ``pred`` lacks, and how many those are.

    Args:
        pred: of ``read_fields``.
        truth: ``eval_fields`` of the sample.
    """
    mask = truth.mask.bool()
    holes = torch.zeros_like(mask)
    for name in ('normal', 'albedo', 'pointmap', 'depth', 'disparity'):
        if name in pred and pred[name].shape[1:] == mask.shape[1:]:
            holes |= ~torch.isfinite(pred[name]).all(0, keepdim=True)
    return mask & ~holes, int((mask & holes).sum())
