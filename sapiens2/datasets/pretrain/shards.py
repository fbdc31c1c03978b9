"""Tar files of images, as WebDataset writes them."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Optional, Union

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.pretrain.files import PackedDataset, texts
from sapiens2.datasets.pretrain.process_cache import ProcessCache
from sapiens2.datasets.pretrain.sidecars import JSON, TEXT, fields_of, sample_name, text_members
from sapiens2.datasets.pretrain.storage import is_remote
from sapiens2.datasets.pretrain.tables import Table, are_names, name_at, whole_numbers
from sapiens2.datasets.pretrain.tar_index import index_tar
from sapiens2.datasets.samplers.order import Locality
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import MAX_BYTES, ImageReadError

_FORMAT = 2
_HEADER = 512
# Lists of texts in tar files that are kept; they are read in order.
_LISTS = 2


@DATASETS.register_module()
class PretrainShardsDataset(PackedDataset):
    """Images in tar files (not compressed), local or remote, read at any place in any order.

    Of each file, one walk over its headers notes where the pictures lie; other members, texts and numbers beside the
    pictures, are passed over.

    Args:
        data_root: see ``PackedDataset``.
        files: see ``PackedDataset``.
        images: endings of the members that are photographs; see ``index_tar``.
        window: tar files that are mixed at a time while shuffling.
        kwargs: of ``PackedDataset``.
    """

    def __init__(self, data_root: str, files: Union[str, Sequence[str]] = '*.tar',
                 images: Optional[Sequence[str]] = None, window: int = 16, **kwargs: Any) -> None:
        self.images = None if images is None else texts(images, f'{type(self).__name__}.images', "'jpg' for instance")
        self._texts = ProcessCache(_LISTS)
        super().__init__(data_root=data_root, files=files, window=window, **kwargs)

    def scan_options(self) -> dict[str, Any]:
        """An index holds members of these endings only."""
        return {'format': _FORMAT, 'images': self.images}

    def scan(self, file: BinaryIO, path: str) -> dict[str, np.ndarray]:
        """Where the pictures lie."""
        return index_tar(file, path, self.images)

    def fits(self, table: Table, stamp: Mapping[str, Any]) -> bool:
        """See ``PackedDataset``: all members lie in the file."""
        offsets, sizes = table['offsets'], table['sizes']
        return (whole_numbers(offsets) and whole_numbers(sizes) and len(offsets) == len(sizes)
                and bool((offsets <= stamp['size'] - sizes).all()) and are_names(table, 'names', len(sizes)))

    def sizes_in(self, index: Table) -> np.ndarray:
        """A tar file is one group."""
        return np.array([len(index['sizes'])])

    def locate(self, sizes: Sequence[np.ndarray]) -> None:
        """Groups are files."""
        self.locality = Locality(np.concatenate(sizes), self.window)
        self._ends = np.cumsum(self.locality.sizes)

    @property
    def count(self) -> int:
        """Number of images."""
        return int(self._ends[-1])

    def _find(self, idx: int) -> tuple[int, int]:
        """File of image ``idx``, and its number in there."""
        number = int(np.searchsorted(self._ends, idx, side='right'))
        return number, idx - int(self._ends[number] - self.locality.sizes[number])

    def name(self, idx: int) -> str:
        """Path of the file, and name of the member."""
        number, place = self._find(idx)
        return f'{self.paths[number]}: {name_at(self.index(number), "names", place)}'

    def read(self, idx: int) -> bytes:
        """Content of image ``idx``."""
        number, place = self._find(idx)
        index = self.index(number)
        offset, size = int(index['offsets'][place]), int(index['sizes'][place])
        if not size:
            raise ImageReadError(self.name(idx), 'the file is empty (0 bytes)')
        if size > MAX_BYTES:
            raise ImageReadError(self.name(idx), f'{size:,} bytes are more than the limit of {MAX_BYTES:,}')
        file = self.opened(number)
        if not self._is_same(file, number, idx, offset, size):
            raise self._changed(idx, 'is another one than when it was indexed')
        file.seek(offset)
        content = file.read(size)
        if len(content) < size:
            raise self._changed(idx, 'has become shorter since it was indexed')
        return content

    def metadata(self, idx: int) -> dict[str, Any]:
        """Of the members .json and .txt of the same sample."""
        number, place = self._find(idx)
        file = self.opened(number)
        places = self._texts.get(number, lambda: text_members(file))
        sample = sample_name(name_at(self.index(number), 'names', place))
        contents = {}
        for ending in (JSON, TEXT):
            if (sample, ending) in places:
                offset, size = places[sample, ending]
                file.seek(offset)
                contents[ending] = file.read(size)
        return fields_of(contents, self.name(idx))

    def _is_same(self, file: BinaryIO, number: int, idx: int, offset: int, size: int) -> bool:
        """Whether a local file has the size and time of the index, or else still has this member where it was."""
        if is_remote(self.paths[number]):
            return True
        status, stamp = os.fstat(file.fileno()), self.stamps[number]
        if (status.st_size, str(status.st_mtime_ns)) == (stamp['size'], stamp['version']) or status.st_size < offset:
            return True  # what is too short is found when it is read
        file.seek(offset - _HEADER)
        try:
            member = tarfile.TarInfo.frombuf(file.read(_HEADER), 'utf-8', 'surrogateescape')
        except tarfile.HeaderError:
            return False
        name = name_at(self.index(number), 'names', idx - int(self._ends[number] - self.locality.sizes[number]))
        # Headers hold a part of long names, and none of other alphabets.
        return member.size == size and (member.name == name or len(name) >= 100 or not name.isascii())

    def _changed(self, idx: int, how: str) -> DataError:
        return DataError(Fault(Kind.UNREADABLE, self.name(idx), f'the tar file {how}', 'files',
                               'do not change it while it is trained on; start again'))
