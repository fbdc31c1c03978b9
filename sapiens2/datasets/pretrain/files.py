"""Images that are packed many to a file."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Optional, Union

import numpy as np
from mmengine.dist import get_dist_info
from rich.console import Console

from sapiens2.datasets.errors import DataError, Fault
from sapiens2.datasets.pretrain.base import INDEX_DIR, PretrainDataset
from sapiens2.datasets.pretrain.process_cache import ProcessCache
from sapiens2.datasets.pretrain.storage import Storage, is_remote
from sapiens2.datasets.pretrain.tables import Table, keep_table, read_table
from sapiens2.utils.progress import progress_bar

# Files indexed at a time: most of the time goes to waiting for a disk or a network.
_THREADS = 8
# Indexes and open files at hand in each process, besides those of the window.
_SPARE = 8
_SHOWN = 3


class PackedDataset(PretrainDataset):
    """Images in files that hold many each.

    An index of each file is made at the first start and kept in ``index_dir``, or beside a local file in the folder
    .sapiens2; it is made anew when size or time of the file have changed. Processes that start together share the work.

    Args:
        data_root: folder, or address, that ``files`` are relative to.
        files: paths, patterns such as ``*.tar`` and ``train-{0000..0099}.tar``, or addresses.
        window: groups of images (see the class) that are mixed at a time while shuffling.
        cache_dir: folder for remote files; None takes $SAPIENS2_CACHE/files, by default ~/.cache/sapiens2/files.
        cache_gb: gigabytes of remote files that are kept there; 0 keeps none, see ``Storage``.
        kwargs: of ``PretrainDataset``.

    Raises:
        DataError: naming the first faulty file, what is wrong in it and what to do, and how many others are faulty.
    """

    def __init__(self, data_root: str, files: Union[str, Sequence[str]], window: int, cache_dir: Optional[str] = None,
                 cache_gb: float = 100.0, **kwargs: Any) -> None:
        kind = type(self).__name__
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ValueError(f'{kind}.window must be a whole number of at least 1, got {window!r}')
        is_number = isinstance(cache_gb, (int, float)) and not isinstance(cache_gb, bool)
        if not is_number or not 0 <= cache_gb < float('inf'):
            raise ValueError(f'{kind}.cache_gb must be a number of gigabytes, 0 or more, got {cache_gb!r}')
        self.patterns = texts(files, f'{kind}.files', "'*.tar' for instance")
        self.window = window
        self.storage = Storage(cache_dir, int(cache_gb * 1e9))
        self._opened = ProcessCache(window + _SPARE)
        self._indexes = ProcessCache(window + _SPARE)
        self._unkept: dict[int, Table] = {}  # indexes that could not be written
        super().__init__(data_root=data_root, **kwargs)

    def scan(self, file: BinaryIO, path: str) -> dict[str, np.ndarray]:
        """The index of ``file``: columns, of which ``sizes`` has an entry for each group or image.

        Raises:
            DataError: naming ``path``, what is wrong in it and what to do.
        """
        raise NotImplementedError

    def fits(self, table: Table, stamp: Mapping[str, Any]) -> bool:
        """Whether a table has the columns of ``scan``, with values that a file of this ``stamp`` can have."""
        raise NotImplementedError

    def scan_options(self) -> dict[str, Any]:
        """What, besides the file, its index depends on."""
        return {}

    def open(self) -> None:
        """Find the files, and index those that are new or have changed."""
        self.paths = self.storage.expand(self.data_root, self.patterns)
        count = len(self.paths)
        self.stamps: list[Any] = [None] * count
        sizes: list[Any] = [None] * count
        faults: dict[int, Fault] = {}
        rank, world_size = get_dist_info()
        first = count * rank // world_size  # each process begins elsewhere, and finds what others have done
        console = Console(file=sys.stderr, quiet=rank > 0)

        def look(number: int) -> None:
            try:
                self.stamps[number] = {**self.storage.stamp(self.paths[number]), **self.scan_options()}
                sizes[number] = self.sizes_in(self._index(number))
            except DataError as error:
                faults[number] = error.fault
            progress.advance(task)

        with progress_bar(console, transient=True) as progress, ThreadPoolExecutor(_THREADS) as pool:
            task = progress.add_task(f'indexing {self.data_root}', total=count)
            list(pool.map(look, [*range(first, count), *range(first)]))
        _raise_faults([faults[number] for number in sorted(faults)])
        self.locate(sizes)

    def _index(self, number: int) -> Table:
        """The index of a file, made if there is none or it is out of date."""
        if number in self._unkept:
            return self._unkept[number]
        path, stamp = self.paths[number], self.stamps[number]
        place = self._index_path(path)
        table = read_table(place, stamp, lambda table: self.fits(table, stamp))
        if table is None:
            with self.storage.open(path, stamp, whole=True) as file:
                table = keep_table(place, self.scan(file, path), stamp)
            if table.path is None:
                self._unkept[number] = table
        return table

    def index(self, number: int) -> Table:
        """The index of a file, at hand."""
        return self._indexes.get(number, lambda: self._index(number))

    def opened(self, number: int) -> BinaryIO:
        """A file, at hand."""
        return self._opened.get(number, lambda: self.storage.open(self.paths[number], self.stamps[number]))

    def _index_path(self, path: str) -> Path:
        folder = self.index_dir or (self.storage.cache_dir / 'indexes' if is_remote(path) else None)
        if folder is None:
            return Path(os.path.dirname(path), INDEX_DIR, f'{os.path.basename(path)}.index.safetensors')
        place = path if is_remote(path) else os.path.abspath(path)
        mark = hashlib.sha1(place.encode('utf-8', 'surrogateescape')).hexdigest()[:10]
        return folder / f'{mark}-{os.path.basename(path)[-100:]}.index.safetensors'

    def sizes_in(self, index: Table) -> np.ndarray:
        """Numbers of images in each group of one file."""
        raise NotImplementedError

    def locate(self, sizes: Sequence[np.ndarray]) -> None:
        """Set up what finds image i, and ``locality``, from the groups' sizes of all files."""
        raise NotImplementedError


def texts(value: Any, what: str, example: str) -> list[str]:
    """``value``, one text or several, as a list; raises ValueError, naming ``what``, for anything else and for none."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not found or not all(isinstance(item, str) and item for item in found):
        raise ValueError(f'{what} must be a text or a list of texts, {example}, got {value!r}')
    return list(found)


def _raise_faults(faults: Sequence[Fault]) -> None:
    if not faults:
        return
    first, *others = faults
    if others:
        names = ', '.join(str(fault.place) for fault in others[:_SHOWN]) + ', ...' * (len(others) > _SHOWN)
        first = Fault(first.kind, first.place, f'{first.message} ({len(others)} more files are faulty: {names})',
                      first.field, first.remedy)
    raise DataError(first)
