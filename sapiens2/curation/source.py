"""Where images come from: any of the pretraining data sets, cut into parts of equal length."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.curation.columns import CONTENT, ERROR, INDEX, METADATA, NAME, Record
from sapiens2.datasets.errors import DataError, Kind
from sapiens2.datasets.pretrain.base import PretrainDataset
from sapiens2.datasets.pretrain.folder import PretrainFolderDataset
from sapiens2.datasets.pretrain.storage import is_remote
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.image_list import IMAGE_ENDINGS

# Names that are looked at to tell whether a source is the same as before.
_SAMPLED_NAMES = 2000


class Source:
    """Images by number. It is sent to other processes as its configuration, and opened there.

    Args:
        cfg: of a data set of ``sapiens2.datasets.pretrain``.
        index_dir: folder for its lists and indexes, unless the configuration names another.

    Raises:
        DataError: if there is no image, or a file is faulty.
    """

    def __init__(self, cfg: Mapping[str, Any], index_dir: Path) -> None:
        self.cfg = {'index_dir': str(index_dir), **cfg}
        self._dataset: PretrainDataset | None = None
        self._places: dict[str, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {'cfg': self.cfg, '_dataset': None, '_places': None}

    @property
    def dataset(self) -> PretrainDataset:
        """The data set, opened at first use."""
        if self._dataset is None:
            try:
                dataset = DATASETS.build(dict(self.cfg))
            except DataError as error:
                if error.fault.kind != Kind.EMPTY or self.cfg['type'] != PretrainFolderDataset.__name__:
                    raise
                raise DataError(f'{self.cfg["data_root"]}: no image in this folder and those below it (looked for '
                                f'{" ".join(IMAGE_ENDINGS)})') from error
            if not isinstance(dataset, PretrainDataset):
                raise ValueError(f'source: {self.cfg["type"]} is no data set of bare images; take '
                                 'PretrainFolderDataset, PretrainShardsDataset or PretrainParquetDataset')
            dataset.full_init()
            self._dataset = dataset
        return self._dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def mark(self) -> str:
        """The same for the same images: made of their number and of names spread over all of them."""
        count = len(self)
        numbers = np.unique(np.linspace(0, count - 1, min(count, _SAMPLED_NAMES)).astype(np.int64))
        content = json.dumps([count, [self.name(int(number)) for number in numbers]])
        return hashlib.sha256(content.encode('utf-8', 'surrogateescape')).hexdigest()[:16]

    def name(self, index: int) -> str:
        """Of image ``index``, below the root of the source, so that a source may be moved."""
        return self.dataset.name(index).removeprefix(self.cfg['data_root']).lstrip('/')

    def read(self, index: int) -> bytes:
        """Content of image ``index``.

        Raises:
            ImageReadError: if it cannot be read.
        """
        return self.dataset.read(index)

    def find(self, index: int, name: str) -> bytes:
        """Content of the image that once was image ``index`` and was called ``name``.

        Raises:
            ImageReadError: if it is not there any more, or cannot be read.
        """
        if index >= len(self) or _printable(self.name(index)) != name:
            if self._places is None:  # the list has changed since
                self._places = {_printable(self.name(number)): number for number in range(len(self))}
            if name not in self._places:
                raise ImageReadError(name, 'is not there any more')
            index = self._places[name]
        try:
            return self.read(index)
        except OSError as error:
            raise ImageReadError(name, error.strerror or str(error)) from error

    def check_there(self) -> None:
        """See that it is not all of the images that cannot be read: the disk or the network may be away.

        Raises:
            DataError: if their folder is gone, or empty.
        """
        root = Path(self.cfg['data_root'])
        if not is_remote(str(root)) and not (root.is_dir() and any(root.iterdir())):
            raise DataError(f'{root}: is gone, or empty, since the run began. Give the same command again when it is '
                            'back; nothing is lost')

    def record(self, index: int, metadata: bool = False) -> Record:
        """What is known of image ``index`` before any stage; with what the source has besides, if asked for."""
        record: Record = {INDEX: index, NAME: _printable(self.name(index))}
        try:
            record[CONTENT] = self.read(index)
            if metadata:
                record[METADATA] = self.dataset.metadata(index)
        except (ImageReadError, OSError) as error:
            record[ERROR] = getattr(error, 'reason', '') or str(error)
        return record


def _printable(name: str) -> str:
    """Parquet holds text; bytes of names that are none are shown as escapes."""
    return name.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')
