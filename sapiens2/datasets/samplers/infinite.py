"""An endless order of samples that any run can take up anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Optional

import numpy as np
from mmengine.dist import get_dist_info, sync_random_seed
from torch.utils.data import Sampler

from sapiens2.datasets.samplers.draw import Draw
from sapiens2.datasets.samplers.mixture import Mixture
from sapiens2.datasets.samplers.order import Order, WindowedOrder
from sapiens2.registry import DATA_SAMPLERS


@DATA_SAMPLERS.register_module()
class ResumableInfiniteSampler(Sampler):
    """Yield ``Draw`` without end: every sample once in each pass, the passes in different orders.

    Position p of the run is sample p modulo the size in the order of pass p // size, whatever the number of
    processes: process r of n takes the positions r, r + n, r + 2n and so on. So a run goes on where it stopped by
    setting ``start``, without loading what is behind, also on another number of GPUs.

    Of a ``MixedDataset``, each data set is gone through in passes of its own, and ``Mixture`` says whose turn it is.

    A data set with a ``locality``, such as one of tar files, is shuffled within a window of a few files at a time.

    Args:
        dataset: anything with a length; not empty. A mixed one also has ``sizes``, ``weights`` and ``localities`` of
            its parts.
        shuffle: whether each pass has an order of its own, from (seed, pass). The parts of a mixture always alternate.
        seed: of the run; None draws one that all processes share, which a resumed run cannot repeat.
        start: number of positions, of all processes together, that are behind. May be set at any time before
            iteration starts.
    """

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: Optional[int] = None, start: int = 0) -> None:
        if not len(dataset):
            raise ValueError('an empty data set cannot be sampled')
        self.sizes = list(getattr(dataset, 'sizes', [len(dataset)]))
        self.localities = list(getattr(dataset, 'localities', [getattr(dataset, 'locality', None)] * len(self.sizes)))
        self.first = np.cumsum([0, *self.sizes]).tolist()
        self.shuffle = shuffle
        self.seed = sync_random_seed() if seed is None else seed
        self.mixture = Mixture(getattr(dataset, 'weights', [1.0]), self.seed)
        self.start = start
        self.rank, self.world_size = get_dist_info()

    def _order(self, part: int, number: int) -> Order:
        """The order of pass ``number`` through a part."""
        if not self.shuffle:
            return range(self.sizes[part])
        seed, locality = [self.seed, number, part], self.localities[part]
        if locality is None:
            return np.random.default_rng(seed).permutation(self.sizes[part])
        return WindowedOrder(locality, seed)

    def __iter__(self) -> Iterator[Draw]:
        orders: dict[int, tuple[int, Order]] = {}  # of each part, the pass that it is in
        position = self.start + self.rank
        while True:
            part, count = self.mixture.at(position)
            number, place = divmod(count, self.sizes[part])
            if part not in orders or orders[part][0] != number:
                orders[part] = number, self._order(part, number)
            yield Draw(self.first[part] + int(orders[part][1][place]), position, self.seed)
            position += self.world_size

    def __len__(self) -> int:
        """Samples in one pass, of all processes and parts together."""
        return self.first[-1]
