"""Reading of NumPy files that people bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Union

import numpy as np
from numpy.lib.npyio import NpzFile

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.utils.file_kind import UNKNOWN, describe_content
from sapiens2.utils.regular_file import check_regular

# Of .npy, and of .npz, which is a ZIP archive.
_MAGIC = (b'\x93NUMPY', b'PK')


@contextmanager
def open_numpy(path: str, field: str = '') -> Iterator[Union[np.ndarray, NpzFile]]:
    """The array of an ``.npy`` file, or an open ``.npz`` file to read arrays from. Nothing is unpickled.

    Raises:
        DataError: naming the file, if it is missing or damaged, or lacks an array that the block asks for.
    """
    try:
        check_regular(path)
        loaded = np.load(path, allow_pickle=False)
        with nullcontext() if isinstance(loaded, np.ndarray) else closing(loaded):
            yield loaded
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(Fault(Kind.UNREADABLE, path, 'there is no such file', field)) from error
    except Exception as error:  # NumPy, zipfile and zlib each have their own for a damaged file
        raise DataError(Fault(Kind.UNREADABLE, path, _reason(path, error), field)) from error


def _reason(path: str, error: Exception) -> str:
    """Why a file cannot be read. What NumPy says of a file that is none of its own is that it might be unpickled."""
    if isinstance(error, OSError) and error.errno is not None:
        return f'cannot be read as a NumPy file: {error.strerror}'
    with open(path, 'rb') as stream:
        head = stream.read(1024)
    if not head.startswith(_MAGIC):
        kind = describe_content(head)
        return 'cannot be read as a NumPy file: it is ' + ('none (.npy or .npz)' if kind == UNKNOWN else kind)
    if 'pickle' in str(error):
        return 'holds pickled Python objects, which are not read: save plain numbers'
    return f'cannot be read as a NumPy file: {error}'
