"""Parquet files with a column of image files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Optional, Union

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.pretrain.files import PackedDataset
from sapiens2.datasets.pretrain.process_cache import ProcessCache
from sapiens2.datasets.pretrain.tables import Table, whole_numbers
from sapiens2.datasets.samplers.order import Locality
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.suggest import unknown_name

_FORMAT = 1
_BYTES = 'bytes'
# Row groups whose other columns are kept; they are read in order.
_OTHERS = 2


@DATASETS.register_module()
class PretrainParquetDataset(PackedDataset):
    """Images in Parquet files, local or remote, a row each; all columns but one are passed over.

    Parquet is read by row groups: each process keeps ``window`` of them in memory (of that one column), and reads each
    once a pass. Files with row groups of some hundred images are best; tar files need no such memory.

    Args:
        data_root: see ``PackedDataset``.
        files: see ``PackedDataset``; ``**/*.parquet`` searches sub-folders too.
        column: of binary values of any kind that are contents of image files, or of structures with such a field
            ``bytes``, as Hugging Face stores pictures.
        window: row groups that are mixed at a time while shuffling.
        kwargs: of ``PackedDataset``.
    """

    def __init__(self, data_root: str, files: Union[str, Sequence[str]] = '*.parquet', column: str = 'image',
                 window: int = 4, **kwargs: Any) -> None:
        self.column = column
        self._groups = ProcessCache(window)
        self._others = ProcessCache(_OTHERS)
        super().__init__(data_root=data_root, files=files, window=window, **kwargs)

    def scan_options(self) -> dict[str, Any]:
        """The column is looked for when a file is indexed."""
        return {'format': _FORMAT, 'column': self.column}

    def scan(self, file: BinaryIO, path: str) -> dict[str, np.ndarray]:
        """Numbers of rows of the row groups, from the end of the file."""
        parquet = _parquet_file(file, path)
        self._check_column(parquet.schema_arrow, path)
        meta = parquet.metadata
        rows = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
        if not sum(rows):
            raise DataError(Fault(Kind.EMPTY, path, 'holds no row', 'files', 'leave it out of files'))
        return {'sizes': np.array(rows, dtype=np.int64)}

    def fits(self, table: Table, stamp: Mapping[str, Any]) -> bool:
        """See ``PackedDataset``."""
        return whole_numbers(table['sizes']) and bool(table['sizes'].sum() > 0)

    def _check_column(self, schema: Any, path: str) -> None:
        import pyarrow.types as types

        if self.column not in schema.names:
            raise DataError(Fault(Kind.MISSING_FIELD, path, unknown_name(self.column, schema.names, 'column'), 'column',
                                  'set column of the data set'))
        if schema.names.count(self.column) > 1:
            raise DataError(Fault(Kind.AMBIGUOUS, path, f'{schema.names.count(self.column)} columns are called '
                                  f'{self.column!r}', 'column', 'write the file again with a name for each'))
        kind = schema.field(self.column).type
        if types.is_struct(kind) and kind.get_field_index(_BYTES) >= 0:
            kind = kind.field(_BYTES).type
        inner = kind.value_type if types.is_dictionary(kind) else kind
        if not any(is_kind(inner) for is_kind in (types.is_binary, types.is_large_binary, types.is_binary_view,
                                                  types.is_fixed_size_binary)):
            raise DataError(Fault(Kind.WRONG_TYPE, path, f'column {self.column!r} holds {kind}, not the contents of '
                                  'image files (binary)', 'column', 'set column of the data set to the one that does; '
                                  'addresses are not followed, so download the images first'))

    def sizes_in(self, index: Table) -> np.ndarray:
        """Rows of the row groups."""
        return index['sizes']

    def locate(self, sizes: Sequence[np.ndarray]) -> None:
        """Groups are row groups."""
        self.locality = Locality(np.concatenate(sizes), self.window)
        self._ends = np.cumsum(self.locality.sizes)
        self._first = np.cumsum([0, *map(len, sizes)])  # row group of each file, counted through all

    @property
    def count(self) -> int:
        """Number of images."""
        return int(self._ends[-1])

    def _find(self, idx: int) -> tuple[int, int, int]:
        """File, row group and row, in there, of image ``idx``."""
        group = int(np.searchsorted(self._ends, idx, side='right'))
        number = int(np.searchsorted(self._first, group, side='right')) - 1
        return number, group - int(self._first[number]), idx - int(self._ends[group] - self.locality.sizes[group])

    def name(self, idx: int) -> str:
        """Path of the file, row group and row."""
        number, group, row = self._find(idx)
        return f'{self.paths[number]}: row {row} of row group {group}'

    def read(self, idx: int) -> bytes:
        """Content of image ``idx``.

        Raises:
            ImageReadError: if the row is empty, or its row group is damaged: then so are all its rows.
        """
        number, group, row = self._find(idx)
        column = self._groups.get((number, group), lambda: self._column(number, group))
        if isinstance(column, str):
            raise ImageReadError(self.name(idx), column)
        content: Optional[bytes] = column[row].as_py()
        if not content:
            raise ImageReadError(self.name(idx), f'column {self.column!r} is empty in this row')
        return content

    def metadata(self, idx: int) -> dict[str, Any]:
        """Of the other columns, those of texts, numbers and truth values."""
        number, group, row = self._find(idx)
        columns = self._others.get((number, group), lambda: self._other_columns(number, group))
        if isinstance(columns, str):
            raise ImageReadError(self.name(idx), columns)
        return {name: columns.column(name)[row].as_py() for name in columns.column_names}

    def _other_columns(self, number: int, group: int) -> Any:
        """Of one row group; the reason, if they cannot be read."""
        import pyarrow
        import pyarrow.types as types

        file = self.opened(number)
        plain = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer, types.is_floating,
                 types.is_boolean, types.is_dictionary)
        names = [field.name for field in file.schema_arrow
                 if field.name != self.column and any(is_kind(field.type) for is_kind in plain)]
        try:
            return file.read_row_group(group, columns=names, use_threads=False)
        except (pyarrow.ArrowException, OSError) as error:
            return f'the metadata of row group {group} are damaged ({error}); copy or download the file again'

    def opened(self, number: int) -> Any:
        """A file, at hand."""
        path = self.paths[number]
        return self._opened.get(number, lambda: _parquet_file(self.storage.open(path, self.stamps[number]), path))

    def _column(self, number: int, group: int) -> Any:
        """The values of one row group; the reason, if it cannot be read."""
        import pyarrow
        import pyarrow.compute

        file = self.opened(number)
        is_struct = pyarrow.types.is_struct(file.schema_arrow.field(self.column).type)
        name = f'{self.column}.{_BYTES}' if is_struct else self.column
        try:
            column = file.read_row_group(group, columns=[name], use_threads=False).column(self.column)
        except (pyarrow.ArrowException, OSError) as error:
            self._check_unchanged(number)
            return (f'row group {group} is damaged, so none of its rows can be read ({error}); copy or download '
                    'the file again')
        if len(column) != file.metadata.row_group(group).num_rows:
            return f'row group {group} is damaged, it has {len(column)} rows where its file lists others'
        return pyarrow.compute.struct_field(column, _BYTES) if is_struct else column


    def _check_unchanged(self, number: int) -> None:
        """Raise DataError if a file that cannot be read is damaged because it was written again meanwhile."""
        path, stamp = self.paths[number], self.stamps[number]
        if any(self.storage.stamp(path)[key] != stamp[key] for key in ('size', 'version')):
            raise DataError(Fault(Kind.UNREADABLE, path, 'has changed since it was indexed', 'files',
                                  'do not change it while it is trained on; start again'))


def _parquet_file(file: BinaryIO, path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f'{path}: reading Parquet needs the package pyarrow; pip install "sapiens2[parquet]"') \
            from error
    try:
        return pyarrow.parquet.ParquetFile(file, page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(Fault(Kind.UNREADABLE, path, f'is no Parquet file, or cut off or damaged: {error}', 'files',
                              'copy or download it again, or leave it out of files')) from error
