"""Reading of JSON files that people bring."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.utils.regular_file import check_regular


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """While annotations are read: millions of small objects, none of which is garbage before all are packed.

    Looking for it meanwhile takes a third to a half of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def read_json(path: str) -> Any:
    """Parse a JSON file.

    Raises:
        DataError: naming the file, if it is missing or no JSON.
    """
    try:
        check_regular(path)
        text = Path(path).read_text(encoding='utf-8-sig')
        with no_garbage_collection():
            return json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(Fault(Kind.UNREADABLE, path, f'cannot be read as JSON: {error}')) from error


def numbers(values: Any, dtype: type) -> np.ndarray:
    """A JSON list of numbers as an array of ``dtype``; NumPy would take text that looks like numbers, too.

    Raises:
        ValueError: if it holds anything else, lists of several lengths, or a number that ``dtype`` cannot hold.
    """
    try:
        array = np.array(values)
    except OverflowError as error:  # a whole number of hundreds of digits among others that have a point
        raise ValueError(f'{values!r:.60} holds a number that is too large') from error
    if array.dtype.kind not in 'iuf':
        raise ValueError(f'{values!r:.60} holds more than numbers')
    if np.dtype(dtype).kind == 'i' and array.dtype.kind == 'f' and not (np.abs(array) < 2.0**63).all():  # NaN included
        raise ValueError(f'{values!r:.60} holds a number that is too large, or NaN')
    with np.errstate(over='ignore'):  # too large for single precision is infinite
        return array.astype(dtype)
