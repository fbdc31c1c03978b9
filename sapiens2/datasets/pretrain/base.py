"""What data sets of bare images share: samples are known by number, their content is read when it is drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.samplers.order import Locality

# Of folders that hold lists and indexes beside the images. Hidden ones are passed over when images are listed.
INDEX_DIR = '.sapiens2'


class PretrainDataset(BaseHumanDataset):
    """Images without annotations.

    Nothing is kept in memory for each sample but what a file that is mapped into it holds, so there may be millions.
    The first step of the pipeline finds

        img_bytes: content of an image file, not decoded;
        img_path, sample_id: its path, or the file that holds it and the name in there;
        img_id: number of the sample.

    Args:
        data_root: folder, or address of one.
        pipeline: transforms, or configurations of them.
        pipeline_options: name of a step's type -> arguments that replace those in ``pipeline``.
        index_dir: folder for lists and indexes, which are made at the first start; None puts them beside the images.
        metainfo: entries of the metainfo.
        lazy_init: whether images are listed at first use only.

    Attributes:
        locality: how samples lie together on the disk; None if any order is as good.
    """

    METAINFO = {'dataset_name': 'pretraining'}
    locality: Optional[Locality] = None

    def __init__(self,
                 data_root: str,
                 pipeline: Sequence[Union[dict, Callable]] = (),
                 pipeline_options: Optional[Mapping[str, Mapping[str, Any]]] = None,
                 index_dir: Optional[str] = None,
                 metainfo: Optional[Mapping[str, Any]] = None,
                 lazy_init: bool = False) -> None:
        for name, value in (('data_root', data_root), ('index_dir', index_dir)):
            if not isinstance(value, (str, os.PathLike)) and (name, value) != ('index_dir', None) or value == '':
                raise ValueError(f'{type(self).__name__}.{name} must be the path of a folder, got {value!r}')
        self.index_dir = None if index_dir is None else Path(index_dir)
        super().__init__(data_root=str(data_root), pipeline=pipeline, pipeline_options=pipeline_options,
                         metainfo=metainfo, lazy_init=lazy_init, serialize_data=False)

    def _join_prefix(self) -> None:
        """There are no prefixes to put behind ``data_root``, which may be an address."""

    def full_init(self) -> None:
        """List the images, unless that was done.

        Raises:
            DataError: if there is none.
        """
        if self._fully_initialized:
            return
        self.open()
        self._fully_initialized = True
        if not self.count:
            raise DataError(Fault(Kind.EMPTY, self.data_root, f'{type(self).__name__} finds no image'))

    def __len__(self) -> int:
        """Number of images."""
        self.full_init()
        return self.count

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """What the pipeline starts from.

        Raises:
            ImageReadError: if the content cannot be read.
        """
        self.full_init()
        name = self.name(idx)
        return {'img_bytes': self.read(idx), 'img_path': name, 'sample_id': name, 'img_id': idx,
                'dataset_meta': self._metainfo}

    def open(self) -> None:
        """Find the images."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of images found."""
        raise NotImplementedError

    def name(self, idx: int) -> str:
        """What errors call image ``idx``."""
        raise NotImplementedError

    def read(self, idx: int) -> bytes:
        """Content of image ``idx``."""
        raise NotImplementedError

    def metadata(self, idx: int) -> dict[str, Any]:
        """What the source says of image ``idx`` besides: address, caption, scores, whatever is there. Not for training.

        Raises:
            ImageReadError: if that cannot be read.
        """
        raise NotImplementedError
