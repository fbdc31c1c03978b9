"""The first pass on Ray Data: parts stream through groups of stages, each with processes and devices of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sapiens2.curation.score import PartScorer

_PART, _STATE = 'part', 'state'


class _Group:
    """An actor that runs some stages on parts: the first group reads the images, the last writes the file."""

    def __init__(self, scorer: PartScorer, numbers: range) -> None:
        self.scorer, self.numbers = scorer, numbers

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, list[Any]]:
        states = np.empty(len(batch[_PART]), dtype=object)
        for place, part in enumerate(batch[_PART].tolist()):
            records, figures = batch[_STATE][place] if _STATE in batch else (self.scorer.read(part), {})
            figures.update(self.scorer.chain.run(records, self.numbers))
            if self.numbers.stop == len(self.scorer.chain.stages):
                self.scorer.write(part, records, figures)
            else:
                states[place] = (records, figures)
        return {_PART: batch[_PART], _STATE: states}


def score_on_ray(scorer: PartScorer, parts: Iterable[int]) -> Iterator[int]:
    """Numbers of parts as they are done.

    Uses the cluster that ``RAY_ADDRESS`` names, or all cores of this machine. Its machines must see source and output
    under the same paths.

    Raises:
        ImportError: if Ray Data is missing.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(f'the engine ray needs Ray Data ({error}): pip install "sapiens2[curation]"') from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    numbers = list(parts)
    data = ray.data.from_items([{_PART: part} for part in numbers],
                               override_num_blocks=len(numbers))
    for members, num_cpus, num_gpus in scorer.chain.groups():
        resource = ray.cluster_resources()
        if num_gpus and not resource.get('GPU'):
            names = ', '.join(scorer.chain.stages[number].name for number in members)
            raise ValueError(f'{names}: num_gpus is {num_gpus:g}, and the Ray cluster has no GPU; set it to 0')
        most = int(min(resource.get('CPU', 1) / num_cpus, resource.get('GPU', 0) / num_gpus if num_gpus else np.inf))
        data = data.map_batches(
            _Group, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None, concurrency=(1, max(1, most)),
            fn_constructor_args=(scorer, members))
    for row in data.iter_rows():
        yield row[_PART]
