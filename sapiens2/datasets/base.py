"""What all data sets share: determinism by draw, no silent replacement, metainfo within reach of the pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from mmengine.dataset import BaseDataset

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers.draw import Draw, random_state
from sapiens2.registry import TRANSFORMS, build_from


class BaseHumanDataset(BaseDataset):
    """MMEngine's data set, with these differences.

    * Given a ``Draw``, random transforms depend on its seed and position alone.
    * A pipeline that returns nothing is an error; no other sample is put in its place.
    * The pipeline finds the data set's metainfo under ``dataset_meta``; it is shared, so do not change it.

    Args:
        pipeline: transforms, or configurations of them.
        kwargs: of ``mmengine.dataset.BaseDataset``.
    """

    def __init__(self, pipeline: Sequence[Union[dict, Callable]] = (), **kwargs: Any) -> None:
        super().__init__(pipeline=[build_from(TRANSFORMS, step) for step in pipeline], **kwargs)

    @classmethod
    def _load_metainfo(cls, metainfo: Optional[Mapping] = None) -> dict[str, Any]:
        """Merge ``metainfo`` over the class's own; strings are values, not names of files to read."""
        return {**copy.deepcopy(cls.METAINFO), **copy.deepcopy(dict(metainfo or {}))}

    def filter_data(self) -> list[dict]:
        """Refuse an empty list.

        Raises:
            DataError: if no sample was found.
        """
        if not self.data_list:
            raise DataError(f'{type(self).__name__}: no sample in {self.ann_file or self.data_prefix}')
        return super().filter_data()

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """What is known of sample ``idx`` before the pipeline."""
        return {**super().get_data_info(idx), 'dataset_meta': self._metainfo}

    def __getitem__(self, idx: Union[int, Draw]) -> Any:
        """Run the pipeline on sample ``idx``, or on the sample and with the random state of a ``Draw``."""
        self.full_init()
        if not isinstance(idx, Draw):
            return self._prepare(int(idx))
        with random_state(idx.seed, idx.position):
            return self._prepare(idx.index)

    def _prepare(self, index: int) -> Any:
        sample = self.prepare_data(index)
        if sample is None:
            raise DataError(f'{type(self).__name__}: the pipeline returned nothing for sample {index}')
        return sample
