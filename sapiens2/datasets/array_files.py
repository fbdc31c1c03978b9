"""Arrays of numbers in the files that people bring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.exr import read_exr
from sapiens2.datasets.numpy_files import open_numpy
from sapiens2.utils.suggest import unknown_name

ARRAY_ENDINGS = ('.npy', '.npz')
EXR_ENDING = '.exr'


def is_array(path: str) -> bool:
    """Whether a file holds an array and no picture, by its ending."""
    return path.lower().endswith((*ARRAY_ENDINGS, EXR_ENDING))


def read_array(path: str, key: str) -> np.ndarray:
    """Read an ``.npy``, the one array or that called ``key`` of an ``.npz``, or the channels of an OpenEXR file.

    Raises:
        DataError: naming the file, if it cannot be read, or the array is empty or holds anything but numbers.
    """
    if path.lower().endswith(EXR_ENDING):
        return read_exr(path, channels=1 if key == 'depth' else 3, layer=key)
    with open_numpy(path, key) as loaded:
        array = loaded if isinstance(loaded, np.ndarray) else loaded[_array_name(path, key, loaded.files)]
    if array.dtype.kind not in 'biuf':
        raise DataError(Fault(Kind.SHAPE, path, f'{key} must hold numbers, this holds {array.dtype}', key))
    if not array.size:
        raise DataError(Fault(Kind.SHAPE, path, f'{key} is empty, of shape {array.shape}', key, 'save it again, or '
                              'remove the sample'))
    return array


def _array_name(path: str, key: str, names: Sequence[str]) -> str:
    """Which array of an ``.npz`` is meant."""
    if key not in names and len(names) != 1:
        raise DataError(Fault(Kind.MISSING_FIELD, path, unknown_name(key, names, 'array'), key))
    return key if key in names else names[0]
