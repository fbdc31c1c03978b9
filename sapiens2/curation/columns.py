"""What is known of an image: named columns with a type and a meaning, in memory and in Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow

NUMBER, TEXT, TRUTH, LIST, OTHER = 'a number', 'text', 'True or False', 'a list', 'bytes'
_HOLDS = {**dict.fromkeys(('int32', 'int64', 'float32'), NUMBER), 'string': TEXT, 'bool': TRUTH}
# Column name -> value. None stands for what is not known.
Record = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        type: 'bool', 'int32', 'int64', 'float32', 'string' or 'binary'; 'picture' and 'bytes' stay in memory.
        meaning: in words, with unit and frame.
        length: of a list in each row; 0 for single values, -1 for lists of any length.
    """

    type: str
    meaning: str
    length: int = 0

    @property
    def stored(self) -> bool:
        """Whether it is written to files. Pictures are not: they can be read again from the source."""
        return self.type not in ('picture', 'bytes')

    @property
    def holds(self) -> str:
        """What an image has there: one of ``NUMBER``, ``TEXT``, ``TRUTH``, ``LIST`` and ``OTHER``."""
        return LIST if self.length else _HOLDS.get(self.type, OTHER)


# What every record starts with, and what may be said of it on the way.
INDEX, NAME, CONTENT, ERROR, DROPPED, LAST = 'index', 'name', 'content', 'error', 'dropped_by', 'last_stage'
METADATA = 'metadata'
BASE: dict[str, Column] = {
    INDEX: Column('int64', 'number of the image in the source'),
    NAME: Column('string', 'path of the file, or of the file that holds it and the name in there'),
    CONTENT: Column('bytes', 'content of the image file'),
    METADATA: Column('bytes', 'fields that the source has of the image, by name; read if a stage asks for them'),
    ERROR: Column('string', 'why the image is in quarantine; empty for a good one'),
    DROPPED: Column('string', 'the filter that dropped it while it was scored; what would have come later is empty'),
    LAST: Column('int32', 'number of the last stage, from 0, that a dropped image was shown; empty if it was not '
                          'dropped'),
}


def arrow_schema(columns: Mapping[str, Column]) -> pyarrow.Schema:
    """The stored columns as Parquet has them; the meaning of each is in its metadata."""
    import pyarrow

    fields = []
    for name, column in columns.items():
        if column.stored:
            kind = pyarrow.type_for_alias(column.type)
            if column.length:
                kind = pyarrow.list_(kind, column.length)
            fields.append(pyarrow.field(name, kind, metadata={'meaning': column.meaning}))
    return pyarrow.schema(fields)


def arrow_table(records: Sequence[Record], columns: Mapping[str, Column]) -> pyarrow.Table:
    """The stored columns of ``records``; what a record lacks is null.

    Raises:
        TypeError: naming the column and the record, if a value is not of the column's type.
    """
    import pyarrow

    schema = arrow_schema(columns)
    arrays = []
    for field in schema:
        values = [record.get(field.name) for record in records]
        try:
            arrays.append(pyarrow.array(values, field.type))
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise TypeError(f'column {field.name!r} must hold {field.type}: {error}') from error
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def bytes_of(column: pyarrow.ChunkedArray) -> np.ndarray:
    """(N, bytes) uint8 of a column of binary values of one length, without an object for each value.

    Raises:
        ValueError: if a value is missing, or has another length.
    """
    parts = []
    for chunk in column.chunks:
        if not len(chunk):
            continue
        ends = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset:chunk.offset + len(chunk) + 1]
        if chunk.null_count or len(np.unique(np.diff(ends))) > 1:
            raise ValueError('values are missing, or of several lengths')
        parts.append(np.frombuffer(chunk.buffers()[2], np.uint8)[ends[0]:ends[-1]].reshape(len(chunk), -1))
    return np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.uint8)
