"""Reading of JSON files that people bring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind


def read_json(path: str) -> Any:
    """Parse a JSON file.

    Raises:
        DataError: naming the file, if it is missing or no JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding='utf-8-sig'))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(Fault(Kind.UNREADABLE, path, f'cannot be read as JSON: {error}')) from error


def numbers(values: Any, dtype: type) -> np.ndarray:
    """A JSON list of numbers as an array of ``dtype``; NumPy would take text that looks like numbers, too.

    Raises:
        ValueError: if it holds anything else, or lists of several lengths.
    """
    array = np.array(values)
    if array.dtype.kind not in 'iuf':
        raise ValueError(f'{values!r:.60} holds more than numbers')
    return array.astype(dtype)
