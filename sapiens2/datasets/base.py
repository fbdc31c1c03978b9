"""What all data sets share: determinism by draw, no silent replacement, metainfo within reach of the pipeline."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import torch
from mmengine.dataset import BaseDataset

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.json_files import no_garbage_collection
from sapiens2.datasets.pipeline_options import with_options
from sapiens2.datasets.samplers.draw import Draw, random_state
from sapiens2.registry import TRANSFORMS, build_from
from sapiens2.utils.image_io import ImageReadError

# Images that are tried for one draw. That so many in a row cannot be read is no accident.
_ATTEMPTS = 16
_SHOWN = 3


class BaseHumanDataset(BaseDataset):
    """MMEngine's data set, with these differences.

    * Given a ``Draw``, random transforms depend on its seed and position alone.
    * A pipeline that returns nothing is an error; no other sample is put in its place.
    * Where ``skip_unreadable`` is set, which ``UnreadableImagesHook`` does for training, a draw whose image cannot be
      read gives another sample, chosen by (seed, position). The sample says so: its meta information ``unreadable``
      lists the path and the reason of each file that was passed over. Faults of annotations, a ``DataError``, are
      never passed over, those of ground truth files included; nor is anything without a ``Draw``, which validation
      and test do not use.
    * The pipeline finds the data set's metainfo under ``dataset_meta``; it is shared, so do not change it.
    * Workers share the annotations with the main process, whether they are forked or spawned.

    Args:
        pipeline: transforms, or configurations of them.
        pipeline_options: name of a step's type -> arguments that replace those in ``pipeline``.
        kwargs: of ``mmengine.dataset.BaseDataset``.
    """

    skip_unreadable = False

    def __init__(self,
                 pipeline: Sequence[Union[dict, Callable]] = (),
                 pipeline_options: Optional[Mapping[str, Mapping[str, Any]]] = None,
                 **kwargs: Any) -> None:
        steps = with_options(pipeline, pipeline_options or {})
        super().__init__(pipeline=[build_from(TRANSFORMS, step) for step in steps], **kwargs)

    @classmethod
    def _load_metainfo(cls, metainfo: Optional[Mapping] = None) -> dict[str, Any]:
        """Merge ``metainfo`` over the class's own; strings are values, not names of files to read."""
        return {**copy.deepcopy(cls.METAINFO), **copy.deepcopy(dict(metainfo or {}))}

    def full_init(self) -> None:
        """Read the annotations, unless that was done."""
        with no_garbage_collection():
            super().full_init()

    def filter_data(self) -> list[dict]:
        """Refuse an empty list.

        Raises:
            DataError: if no sample was found.
        """
        if not self.data_list:
            where = '' if self.ann_file else f' in {self.data_prefix}'
            raise DataError(Fault(Kind.EMPTY, self.ann_file, f'{type(self).__name__} finds no sample{where}'))
        return super().filter_data()

    def get_data_info(self, idx: int) -> dict[str, Any]:
        """What is known of sample ``idx`` before the pipeline."""
        return {**super().get_data_info(idx), 'dataset_meta': self._metainfo}

    def __getitem__(self, idx: Union[int, Draw]) -> Any:
        """Run the pipeline on sample ``idx``, or on the sample and with the random state of a ``Draw``.

        Raises:
            DataError: if the annotation of the sample is faulty, or no image that was tried for a draw can be read.
            ImageReadError: if the image cannot be read and ``skip_unreadable`` is not set.
        """
        self.full_init()
        if not isinstance(idx, Draw):
            return self._prepare(int(idx))
        if not self.skip_unreadable:
            return self._prepare_draw(idx.index, idx)
        unreadable: list[tuple[str, str]] = []
        for index in self._candidates(idx):
            try:
                sample = self._prepare_draw(index, idx)
            except ImageReadError as error:
                unreadable.append((error.path, error.reason))
                continue
            if unreadable:
                sample['data_samples'].set_metainfo({'unreadable': unreadable})
            return sample
        raise DataError(Fault(Kind.UNREADABLE, '', f'{type(self).__name__}: none of the {len(unreadable)} images that '
                              'were tried for one draw can be read: '
                              + '; '.join(f'{path}: {reason}' for path, reason in unreadable[:_SHOWN])
                              + '; ...' * (len(unreadable) > _SHOWN), 'img', 'check data_prefix, or the disk'))

    def _candidates(self, draw: Draw) -> Iterator[int]:
        """The drawn sample, then others by (seed, position), none twice."""
        yield draw.index
        others = np.random.default_rng([draw.seed, draw.position]).choice(
            len(self), size=min(len(self), _ATTEMPTS), replace=False)
        yield from [int(index) for index in others if index != draw.index][:_ATTEMPTS - 1]

    def _prepare_draw(self, index: int, draw: Draw) -> Any:
        with random_state(draw.seed, draw.position):
            return self._prepare(index)

    def _prepare(self, index: int) -> Any:
        sample = self.prepare_data(index)
        if sample is None:
            raise DataError(f'{type(self).__name__}: the pipeline returned nothing for sample {index}; each step must '
                            'return the dictionary')
        return sample

    def __getstate__(self) -> dict[str, Any]:
        """For a spawned worker: the annotations move to shared memory once, and each worker gets a handle of it.

        A forked worker shares the memory as it is, so nothing happens there.
        """
        state = self.__dict__.copy()
        shared = state.pop('_shared', None)
        if isinstance(state.get('data_bytes'), np.ndarray):
            if shared is None or shared.data_ptr() != self.data_bytes.ctypes.data:
                self._shared = shared = torch.from_numpy(self.data_bytes).share_memory_()
                self.data_bytes = shared.numpy()
            state['data_bytes'] = shared
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the annotations from shared memory."""
        self.__dict__.update(state)
        if isinstance(state.get('data_bytes'), torch.Tensor):
            self._shared = state['data_bytes']
            self.data_bytes = self._shared.numpy()
