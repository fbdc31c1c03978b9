"""Several data sets trained on together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from mmengine.dataset import ConcatDataset

from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers.draw import Draw
from sapiens2.datasets.samplers.order import Locality
from sapiens2.registry import DATASETS, build_from

# What all parts must agree in: the targets of the model depend on it.
_SAME = ('keypoint_names', 'flip_indices', 'classes', 'flip_pairs')


@DATASETS.register_module()
class MixedDataset(ConcatDataset):
    """Several data sets of one task, one after another by index; ``ResumableInfiniteSampler`` mixes them by weight.

    Each data set is gone through in shuffled passes of its own: nothing of it comes again before all of it was seen.
    The metainfo is that of the first.

    Args:
        datasets: their configurations, or the data sets.
        weights: share of the draws of each, positive; they need not add up to 1. None takes the numbers of samples,
            which makes one data set of several annotation files.
        pipeline: of those data sets whose configuration has none.
        lazy_init: whether annotations are read at first use only.

    Raises:
        DataError: for weights that do not fit, mixtures in mixtures, or data sets whose key points or classes differ.
    """

    def __init__(self,
                 datasets: Sequence[Union[dict, BaseHumanDataset]],
                 weights: Optional[Sequence[float]] = None,
                 pipeline: Sequence[Union[dict, Callable]] = (),
                 lazy_init: bool = False) -> None:
        built = [build_from(DATASETS, part, pipeline=pipeline, lazy_init=lazy_init) for part in datasets]
        _check_parts(built)
        self._weights = _shares(weights, len(built))
        every_key = sorted({key for part in built for key in part.metainfo})  # checked already, in fewer words
        super().__init__(built, lazy_init=lazy_init, ignore_keys=every_key)

    @property
    def sizes(self) -> list[int]:
        """Samples of each data set."""
        return [len(part) for part in self.datasets]

    @property
    def localities(self) -> list[Optional[Locality]]:
        """How the samples of each data set lie together on the disk, where that is to be kept to."""
        return [getattr(part, 'locality', None) for part in self.datasets]

    @property
    def weights(self) -> list[float]:
        """Share of each data set in the draws, adding up to 1."""
        weights = self.sizes if self._weights is None else self._weights
        return [weight / sum(weights) for weight in weights]

    @property
    def skip_unreadable(self) -> bool:
        """See ``BaseHumanDataset``: whether all data sets draw another sample for an image that cannot be read."""
        return all(part.skip_unreadable for part in self.datasets)

    @skip_unreadable.setter
    def skip_unreadable(self, value: bool) -> None:
        for part in self.datasets:
            part.skip_unreadable = value

    def __getitem__(self, idx: Union[int, Draw]) -> Any:
        """Sample ``idx`` of all, or that of a ``Draw``, made by the data set that it belongs to."""
        self.full_init()
        part, local = self._get_ori_dataset_idx(idx.index if isinstance(idx, Draw) else int(idx))
        return self.datasets[part][idx._replace(index=local) if isinstance(idx, Draw) else local]


def _check_parts(parts: Sequence[BaseHumanDataset]) -> None:
    if not parts:
        raise DataError('MixedDataset.datasets is empty; list at least one')
    for number, part in enumerate(parts):
        if not isinstance(part, BaseHumanDataset):
            raise DataError(f'MixedDataset.datasets.{number} is a {type(part).__name__}; a mixture holds data sets of '
                            'sapiens2.datasets, and no mixtures')
        for key in _SAME:
            if part.metainfo.get(key) != parts[0].metainfo.get(key):
                raise DataError(f'MixedDataset.datasets.{number}: its {key} are not those of datasets.0; give all the '
                                'same target or classes, and map what is stored to them')


def _shares(weights: Optional[Sequence[float]], count: int) -> Optional[list[float]]:
    """``weights``, checked and divided by the largest, so that no sum of them is infinite."""
    if weights is None:
        return None
    if not isinstance(weights, (list, tuple)) or len(weights) != count or not all(map(_is_weight, weights)):
        raise DataError(f'MixedDataset.weights must be a list of one positive number for each of the {count} data sets,'
                        f' this is {weights!r:.80}; take out a data set that is not to be drawn')
    return [weight / max(weights) for weight in weights]


def _is_weight(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= sys.float_info.max
