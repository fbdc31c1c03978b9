"""Reading of NumPy files that people bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Union

import numpy as np
from numpy.lib.npyio import NpzFile

from sapiens2.datasets.errors import DataError, Fault, Kind


@contextmanager
def open_numpy(path: str, field: str = '') -> Iterator[Union[np.ndarray, NpzFile]]:
    """The array of an ``.npy`` file, or an open ``.npz`` file to read arrays from. Nothing is unpickled.

    Raises:
        DataError: naming the file, if it is missing or damaged, or lacks an array that the block asks for.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        with nullcontext() if isinstance(loaded, np.ndarray) else closing(loaded):
            yield loaded
    except DataError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib each have their own for a damaged file
        raise DataError(Fault(Kind.UNREADABLE, path, f'cannot be read as a NumPy file: {error}', field)) from error
