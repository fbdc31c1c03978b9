"""Several data sets trained on as one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from torch.utils.data import DataLoader

from sapiens2.datasets import BaseHumanDataset, DataError, MixedDataset
from sapiens2.datasets.samplers import Draw, ResumableInfiniteSampler


class Numbers(BaseHumanDataset):
    """Samples that are their name and number, and a random one."""

    def __init__(self, name: str = 'a', count: int = 3, **kwargs: Any) -> None:
        self.name, self.count = name, count
        super().__init__(**kwargs)

    def load_data_list(self) -> list[dict]:
        return [{'name': self.name, 'number': number} for number in range(self.count)]


def noise(results: dict) -> tuple[str, int, float]:
    return results['name'], results['number'], np.random.random()


def mixture(**kwargs: Any) -> MixedDataset:
    return MixedDataset([Numbers('a', 3, pipeline=[noise]), Numbers('b', 40, pipeline=[noise])], **kwargs)


def test_indices_run_through_one_after_the_other() -> None:
    mixed = mixture()
    assert [mixed[i][:2] for i in (0, 2, 3, 42)] == [('a', 0), ('a', 2), ('b', 0), ('b', 39)]
    assert len(mixed) == 43 and mixed.sizes == [3, 40] and mixed.get_data_info(4)['number'] == 1
    assert mixed.weights == pytest.approx([3 / 43, 40 / 43])
    assert mixed[Draw(5, 9, 1)] == mixed.datasets[1][Draw(2, 9, 1)]


def test_loader_respects_the_weights_whatever_the_workers() -> None:
    mixed = mixture(weights=[3, 1])
    batches = []
    for workers in (0, 2):
        loader = DataLoader(mixed, batch_size=4, sampler=ResumableInfiniteSampler(mixed, seed=1), num_workers=workers,
                            collate_fn=list)
        batches.append(list(itertools.islice(loader, 20)))
    assert batches[0] == batches[1]
    names = [sample[0] for batch in batches[0] for sample in batch]
    assert names.count('a') == 60


def test_pipeline_is_that_of_parts_without_one() -> None:
    mixed = MixedDataset([dict(type=Numbers), dict(type=Numbers, name='c', pipeline=[lambda results: results['name']])],
                         pipeline=[noise])
    assert mixed[0][:2] == ('a', 0) and mixed[3] == 'c'


@pytest.mark.parametrize('weights', [
    [1], [1, 0], [1, -2], [1, float('nan')], [1, float('inf')], ['1', '1'], 'ab', 3, [None, 1], [True, True],
    {'a': 1, 'b': 1}, [1, 10**400]])
def test_weights_that_cannot_be(weights: Any) -> None:
    with pytest.raises(DataError, match='one positive number for each of the 2'):
        mixture(weights=weights)


def test_weights_whose_sum_is_infinite() -> None:
    assert mixture(weights=[1e308, 1e308]).weights == [0.5, 0.5]


def test_parts_that_do_not_go_together() -> None:
    with pytest.raises(DataError, match=r'datasets\.1: its classes are not those of datasets\.0'):
        MixedDataset([Numbers(metainfo=dict(classes=['x'])), Numbers(metainfo=dict(classes=['y']))])
    with pytest.raises(DataError, match=r'datasets\.0 is a MixedDataset'):
        MixedDataset([mixture()])
    with pytest.raises(DataError, match='empty'):
        MixedDataset([])
