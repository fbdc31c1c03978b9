"""Lists that are too long for Python objects: columns of numbers in a file, mapped into memory and so shared."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np
from mmengine.logging import print_log
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sapiens2.utils.atomic import atomic_path

_STAMP, _CHECKSUM = 'stamp', 'checksum'
# Longer tables are not read as a whole at each start, only looked over: a second a gigabyte, in every process.
_CHECKED_BYTES = 1 << 29


class Table:
    """Columns by name, of a file or in memory.

    A pickled table of a file is the path alone, so a spawned worker maps the same pages. Values must not be changed.
    """

    def __init__(self, columns: Mapping[str, np.ndarray], path: Optional[Path] = None) -> None:
        self.columns, self.path = dict(columns), path

    def __getitem__(self, name: str) -> np.ndarray:
        """One column."""
        return self.columns[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Table, (self.columns,)) if self.path is None else (_open, (self.path,))


def read_table(path: Path, stamp: Mapping[str, Any], fits: Callable[[Table], bool]) -> Optional[Table]:
    """The table in ``path`` if it was written with the same ``stamp``; None if it was not, is missing or damaged.

    Args:
        fits: whether columns are there and their values belong together. Up to half a gigabyte they are compared with a
            checksum before.
    """
    try:
        with safe_open(path, framework='pt') as file:
            metadata = file.metadata() or {}
        if json.loads(metadata.get(_STAMP, 'null')) != _plain(stamp):
            return None
        table = _open(path)
        if sum(column.nbytes for column in table.columns.values()) <= _CHECKED_BYTES and \
                metadata.get(_CHECKSUM) != _checksum(table.columns):
            return None
        return table if fits(table) else None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep_table(path: Path, columns: Mapping[str, np.ndarray], stamp: Mapping[str, Any]) -> Table:
    """Write ``columns`` to ``path`` for the next time.

    Where that is impossible the table stays in memory, and a warning says so.

    Args:
        stamp: what the table was made of; see ``read_table``.
    """
    columns = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    try:
        with atomic_path(path) as partial:
            save_file(columns, partial, {_STAMP: json.dumps(_plain(stamp)), _CHECKSUM: _checksum(columns)})
    except OSError as error:
        print_log(f'{path}: cannot be kept for the next start, which will list the images again: '
                  f'{error.strerror or error}. Set index_dir of the data set to a folder that can be written',
                  logger='current', level=30)
        return Table(columns)
    return _open(path)


def _open(path: Path) -> Table:
    with safe_open(path, framework='pt') as file:
        return Table({name: file.get_tensor(name).numpy() for name in file.keys()}, path)


def _plain(stamp: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dict(stamp)))


def _checksum(columns: Mapping[str, np.ndarray]) -> str:
    """Of names, types and values."""
    checksum = 0
    for name in sorted(columns):
        column = columns[name]
        checksum = zlib.crc32(f'{name} {column.dtype} {column.shape}'.encode(), checksum)
        checksum = zlib.crc32(column.reshape(-1).view(np.uint8), checksum)
    return f'{checksum:08x}'


def whole_numbers(column: np.ndarray) -> bool:
    """Whether a column is one of whole numbers of at least 0."""
    return column.ndim == 1 and column.dtype == np.int64 and bool((column >= 0).all())


def are_names(table: Table, prefix: str, count: int) -> bool:
    """Whether ``table`` has the columns of ``pack_names`` for ``count`` names, at least one."""
    text, ends = table[prefix], table[f'{prefix}_ends']
    return (text.ndim == 1 and text.dtype == np.uint8 and whole_numbers(ends) and len(ends) == count > 0
            and int(ends[-1]) == len(text) and bool((ends[1:] >= ends[:-1]).all()))


def pack_names(names: Iterable[str], prefix: str) -> dict[str, np.ndarray]:
    """Columns ``prefix`` and ``prefix``_ends that hold ``names``; see ``name_at``."""
    encoded = [_encode(name) for name in names]
    return {prefix: np.frombuffer(b''.join(encoded), np.uint8),
            f'{prefix}_ends': np.cumsum([len(name) for name in encoded], dtype=np.int64)}


def name_at(table: Table, prefix: str, index: int) -> str:
    """Name number ``index`` of the columns that ``pack_names`` made."""
    ends = table[f'{prefix}_ends']
    start = ends[index - 1] if index else 0
    return table[prefix][start:ends[index]].tobytes().decode('utf-8', 'surrogateescape')


def _encode(name: str) -> bytes:
    # Names of files are bytes; those that are no UTF-8 are kept as Python keeps them.
    return name.encode('utf-8', 'surrogateescape')
