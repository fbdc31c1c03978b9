"""Tar files of images, as WebDataset writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Optional, Union

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.pretrain.files import PackedDataset
from sapiens2.datasets.pretrain.tables import Table, name_at
from sapiens2.datasets.pretrain.tar_index import index_tar
from sapiens2.datasets.samplers.order import Locality
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import MAX_BYTES, ImageReadError

_FORMAT = 1


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
        self.images = [images] if isinstance(images, str) else images
        super().__init__(data_root=data_root, files=files, window=window, **kwargs)

    def scan_options(self) -> dict[str, Any]:
        """An index holds members of these endings only."""
        return {'format': _FORMAT, 'images': self.images}

    def scan(self, file: BinaryIO, path: str) -> dict[str, np.ndarray]:
        """Where the pictures lie."""
        return index_tar(file, path, self.images)

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
        file.seek(offset)
        content = file.read(size)
        if len(content) < size:
            raise DataError(Fault(Kind.UNREADABLE, self.name(idx), 'the tar file has become shorter since it was '
                                  'indexed', 'files', 'do not change it while it is trained on; start again'))
        return content
