"""The first pass on Ray Data: parts stream through groups of stages, each with processes and devices of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sapiens2.utils.ray_engine import start_ray

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

    The machines of the cluster must see source and output under the same paths.

    Raises:
        ImportError: if Ray Data is missing.
        ValueError: if the cluster has too few processors for a process of each group.
    """
    ray = start_ray('curation')
    try:
        import ray.data
    except ImportError as error:
        raise ImportError(f'the engine ray needs Ray Data ({error}): pip install "sapiens2[curation]"') from error
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger('ray.data').setLevel(logging.ERROR)
    numbers, groups, resources = list(parts), list(scorer.chain.groups()), ray.cluster_resources()
    _check_room(groups, scorer, resources)
    data = ray.data.from_items([{_PART: part} for part in numbers], override_num_blocks=len(numbers))
    for members, num_cpus, num_gpus in groups:
        most = min(resources['CPU'] / num_cpus, resources['GPU'] / num_gpus if num_gpus else np.inf, len(numbers))
        data = data.map_batches(
            _Group, batch_size=1, num_cpus=num_cpus, num_gpus=num_gpus or None,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=max(1, int(most))),
            fn_constructor_args=(scorer, members))
    for row in data.iter_rows():
        yield row[_PART]


def _check_room(groups: list[tuple[range, float, float]], scorer: PartScorer, resources: Mapping[str, float]) -> None:
    """See that every group can have a process at the same time: with fewer, Ray waits without end."""
    for kind, place in (('GPU', 2), ('CPU', 1)):
        needed, there = sum(group[place] for group in groups), resources.get(kind, 0)
        if needed > there:
            asked = ', '.join(f'{scorer.chain.stages[number].name} {group[place]:g}'
                              for group in groups for number in group[0][:1] if group[place])
            raise ValueError(f'the Ray cluster has {there:g} {kind}, and one process of each group of stages needs '
                             f'{needed:g} (groups that begin with: {asked}): set num_{kind.lower()}s of the stages '
                             'lower, or use a larger cluster')
