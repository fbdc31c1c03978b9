"""Draws: the same sample with the same augmentation, whatever the workers, processes and resumes."""

from __future__ import annotations

import itertools
import random
from unittest import mock

import numpy as np
import pytest
from torch.utils.data import DataLoader

from sapiens2.datasets import BaseHumanDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers import Draw, Mixture, ResumableInfiniteSampler, random_state
from sapiens2.datasets.samplers.mixture import BLOCK
from sapiens2.registry import DATA_SAMPLERS


def draws(sampler: ResumableInfiniteSampler, count: int) -> list[Draw]:
    return list(itertools.islice(sampler, count))


class Parts:
    """Stands for a mixed data set: 7, 100 and 30 samples, one after another."""

    sizes, weights = [7, 100, 30], [0.5, 0.3, 0.2]

    def __len__(self) -> int:
        return sum(self.sizes)


def parts_of(taken: list[Draw]) -> np.ndarray:
    return np.searchsorted(np.cumsum(Parts.sizes), [draw.index for draw in taken], side='right')


def sampler_of(rank: int, world_size: int, **kwargs) -> ResumableInfiniteSampler:
    kwargs = {'dataset': range(7), **kwargs}
    with mock.patch('sapiens2.datasets.samplers.infinite.get_dist_info', return_value=(rank, world_size)):
        return DATA_SAMPLERS.build(dict(type='ResumableInfiniteSampler', seed=3, **kwargs))


def test_each_pass_holds_every_sample_once_in_its_own_order() -> None:
    indices = [draw.index for draw in draws(sampler_of(0, 1), 21)]
    passes = [indices[:7], indices[7:14], indices[14:]]
    assert all(sorted(order) == list(range(7)) for order in passes)
    assert passes[0] != passes[1] != passes[2]
    assert [draw.index for draw in draws(sampler_of(0, 1, shuffle=False), 9)] == [0, 1, 2, 3, 4, 5, 6, 0, 1]


@pytest.mark.parametrize('world_size', [2, 3])
def test_processes_share_one_order(world_size: int) -> None:
    alone = draws(sampler_of(0, 1), 6 * world_size)
    for rank in range(world_size):
        assert draws(sampler_of(rank, world_size), 6) == alone[rank::world_size]


@pytest.mark.parametrize('start', [4, 7, 30])
def test_resume_goes_on_where_it_stopped_also_on_more_processes(start: int) -> None:
    whole = draws(sampler_of(0, 1), start + 8)
    resumed = sampler_of(0, 1)
    resumed.start = start
    assert draws(resumed, 8) == whole[start:]
    assert [draws(sampler_of(rank, 2, start=start), 4) for rank in range(2)] == [
        whole[start::2], whole[start + 1::2]]


@pytest.mark.parametrize('weights', [
    [0.5, 0.3, 0.2], [1, 1, 1], [0.9, 0.05, 0.05], [0.25, 0.75], [1] * 10, [*range(1, 31)]])
def test_weights_hold_after_any_1000_draws(weights: list[float]) -> None:
    mixture = Mixture(weights, seed=3)
    sources = np.array([mixture.at(position)[0] for position in range(6000)])
    shares = np.array(weights) / sum(weights)
    for source, share in enumerate(shares):
        total = np.cumsum(np.r_[0, sources == source])
        assert np.abs((total[1000:] - total[:-1000]) / 1000 - share).max() < 0.01
        assert np.abs(total - share * np.arange(len(total))).max() < 8  # nor does it drift
    assert len({tuple(sources[start:start + BLOCK]) for start in range(0, 6000, BLOCK)}) > 5


def test_each_part_of_a_mixture_is_seen_whole_before_anything_comes_again() -> None:
    taken = draws(sampler_of(0, 1, dataset=Parts()), 1000)
    parts = parts_of(taken)
    for part, size in enumerate(Parts.sizes):
        mine = [draw.index for draw, source in zip(taken, parts) if source == part]
        passes = [mine[start:start + size] for start in range(0, len(mine) - size, size)]
        assert passes and all(len(set(order)) == size for order in passes)
        assert len(passes) == 1 or passes[0] != passes[1]
    assert [draw.position for draw in taken] == list(range(1000))


@pytest.mark.parametrize('start', [5, 16, 777])
def test_mixture_goes_on_where_it_stopped_and_processes_share_it(start: int) -> None:
    whole = draws(sampler_of(0, 1, dataset=Parts()), start + 60)
    resumed = [draws(sampler_of(rank, 3, dataset=Parts(), start=start), 20) for rank in range(3)]
    assert resumed == [whole[start + rank::3] for rank in range(3)]
    assert {*parts_of(resumed[0])} == {*parts_of(resumed[1])} == {0, 1, 2}  # no process is left with one part


def test_far_position_is_reached_without_counting_up_to_it() -> None:
    sampler = sampler_of(0, 1, dataset=Parts(), start=10**12)
    near = draws(sampler, 1000)
    assert near[0].position == 10**12
    assert np.bincount(parts_of(near)) == pytest.approx([500, 300, 200], abs=10)


def test_seed_changes_order_and_empty_is_refused() -> None:
    other = ResumableInfiniteSampler(range(50), seed=4)
    assert draws(other, 50) != draws(ResumableInfiniteSampler(range(50), seed=5), 50)
    with pytest.raises(ValueError, match='empty'):
        ResumableInfiniteSampler([])


def test_random_state_is_restored() -> None:
    random.seed(1), np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1), np.random.seed(1)
    with random_state(0, 5):
        inside = random.random(), np.random.random()
    assert (random.random(), np.random.random()) == expected
    with random_state(0, 5):
        assert (random.random(), np.random.random()) == inside
    with random_state(0, 6):
        assert random.random() != inside[0]


class Noise(BaseHumanDataset):
    """Samples that are random numbers."""

    def load_data_list(self) -> list[dict]:
        return [{'number': number} for number in range(7)]


def noise(results: dict) -> tuple[int, float, float]:
    return results['sample_idx'], random.random(), np.random.random()


def _collect(workers: int, start: int, count: int) -> list:
    dataset = Noise(pipeline=[noise])
    sampler = ResumableInfiniteSampler(dataset, seed=1, start=start)
    loader = DataLoader(dataset, batch_size=2, sampler=sampler, num_workers=workers, collate_fn=list)
    return [sample for batch in itertools.islice(loader, count) for sample in batch]


def test_augmentation_depends_on_the_draw_alone() -> None:
    whole = _collect(0, 0, 5)
    assert _collect(2, 0, 5) == whole
    assert _collect(0, 4, 3) == whole[4:]
    assert len({numbers[1] for numbers in whole}) == len(whole)


def test_nothing_is_replaced_in_silence() -> None:
    with pytest.raises(DataError, match='sample 3'):
        Noise(pipeline=[lambda results: None])[3]


class Empty(BaseHumanDataset):
    """No samples."""

    def load_data_list(self) -> list[dict]:
        return []


def test_no_sample_is_an_error() -> None:
    with pytest.raises(DataError, match='some.json: .* finds no sample'):
        Empty(ann_file='some.json')
