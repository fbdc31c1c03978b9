"""Folders of images, however deep and many."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import Any, Optional

import numpy as np
from mmengine.dist import is_main_process
from mmengine.logging import print_log
from rich.console import Console

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.pretrain.base import INDEX_DIR, PretrainDataset
from sapiens2.datasets.pretrain.sidecars import JSON, TEXT, fields_of
from sapiens2.datasets.pretrain.tables import Table, are_names, keep_table, name_at, pack_names, read_table
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import file_content
from sapiens2.utils.image_list import IMAGE_ENDINGS, walk_folder
from sapiens2.utils.progress import progress_bar

_FORMAT = 1


@DATASETS.register_module()
class PretrainFolderDataset(PretrainDataset):
    """All images below a folder; hidden files and folders are left out, links are followed.

    The list is kept in ``index_dir``. It is made anew when a folder in it has changed, that is, when a file was added,
    removed or renamed there; replaced content of a file needs no new list.

    Args:
        refresh: make the list anew in any case, for file systems that do not keep the times of folders.
        kwargs: of ``PretrainDataset``.

    Raises:
        DataError: if there is no such folder, or no image in it.
    """

    def __init__(self, data_root: str, refresh: bool = False, **kwargs: Any) -> None:
        self.refresh = refresh
        super().__init__(data_root=data_root, **kwargs)

    def open(self) -> None:
        """Take the list of the last time, or make one."""
        root = Path(self.data_root).absolute()
        if not root.is_dir():
            raise DataError(Fault(Kind.UNREADABLE, self.data_root, 'is no folder', 'data_root', 'set data_root to the '
                                  'folder of your images'))
        self._root = os.fspath(root)
        path = self._list_path(root)
        stamp = {'format': _FORMAT, 'root': self._root}
        table = None if self.refresh else read_table(path, stamp, _fits)
        if table is None or not self._is_current(table):
            if table is not None:
                print_log(f'{path}: folders have changed since it was made, listing the images again', 'current')
            with contextlib.suppress(OSError):  # keep_table says so
                # Before the list is made, because it changes the time of the folder that it is in.
                path.parent.mkdir(parents=True, exist_ok=True)
            table = keep_table(path, self._list(), stamp)
        self._table = table

    def _list_path(self, root: Path) -> Path:
        if self.index_dir is None:
            return root / INDEX_DIR / 'images.list.safetensors'
        mark = hashlib.sha1(os.fsencode(root)).hexdigest()[:10]  # several folders may share an index_dir
        return self.index_dir / f'{root.name}-{mark}.list.safetensors'

    def _list(self) -> dict[str, np.ndarray]:
        """Walk the folder."""
        names: list[str] = []
        folders: list[str] = []
        times: list[int] = []
        console = Console(file=sys.stderr, quiet=not is_main_process())
        with progress_bar(console, transient=True) as progress:
            task = progress.add_task(f'listing images of {self.data_root}', total=None)
            for place, files in walk_folder(self._root):
                folder = os.path.relpath(place, self._root)
                folders.append(folder)
                times.append(_time(place))
                names += [os.path.normpath(os.path.join(folder, file)) for file in files
                          if file.lower().endswith(IMAGE_ENDINGS)]
                progress.update(task, completed=len(names))
        return {**pack_names(names, 'names'), **pack_names(folders, 'folders'),
                'times': np.array(times, dtype=np.int64)}

    def _is_current(self, table: Table) -> bool:
        return all(_time(os.path.join(self._root, name_at(table, 'folders', number))) == time
                   for number, time in enumerate(table['times'].tolist()))

    @property
    def count(self) -> int:
        """Number of images."""
        return len(self._table['names_ends'])

    def name(self, idx: int) -> str:
        """Path of image ``idx``."""
        return os.path.join(self.data_root, name_at(self._table, 'names', idx))

    def read(self, idx: int) -> bytes:
        """Content of image ``idx``."""
        return file_content(os.path.join(self._root, name_at(self._table, 'names', idx)), self.name(idx))[0]

    def metadata(self, idx: int) -> dict[str, Any]:
        """Of files of the same name that end in .json and .txt."""
        path = Path(self._root, name_at(self._table, 'names', idx))
        files = {ending: path.with_suffix(f'.{ending}') for ending in (JSON, TEXT)}
        return fields_of({ending: file.read_bytes() for ending, file in files.items() if file.is_file()},
                         self.name(idx))


def _fits(table: Table) -> bool:
    """Whether the columns of a list belong together; a folder without images has none."""
    return (are_names(table, 'folders', len(table['times'])) and table['times'].dtype == np.int64
            and are_names(table, 'names', len(table['names_ends'])))


def _time(folder: str) -> Optional[int]:
    """When something was last added to or removed from a folder, nanoseconds; None if it is gone."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None
