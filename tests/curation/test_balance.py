"""Sampling that flattens a distribution."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.curation.balance import Balance, binned, hierarchy, quotas, sample_levels


def test_quotas_share_equally_and_pass_on_what_small_groups_leave():
    assert quotas(np.array([1, 10, 100]), 21).tolist() == [1, 10, 10]
    assert quotas(np.array([1, 10, 100]), 200).tolist() == [1, 10, 100]
    assert quotas(np.array([5, 5, 5]), 4).sum() == 4


def test_bins():
    assert binned([None, 0.5, 1.5, float('nan'), 9], [1, 2]).tolist() == [0, 1, 2, 0, 3]
    assert binned(['b', 'a', None], None).tolist() == [2, 1, 0]


def test_clusters_find_groups_that_are_apart():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    features = np.eye(8)[truth] + 0.05 * rng.standard_normal((200, 8))
    fine, coarse = hierarchy(features.astype(np.float32), (8, 4), rng)
    assert all(len(set(truth[coarse == cluster])) == 1 for cluster in range(4))
    assert all(len(set(coarse[fine == cluster])) == 1 for cluster in set(fine))


def test_rare_ones_are_kept_and_frequent_ones_thinned():
    groups = np.repeat([0, 1, 2], [5, 50, 500])
    chosen = sample_levels([groups], [], 105, np.random.default_rng(0))
    assert np.bincount(groups[chosen]).tolist() == [5, 50, 50]
    assert (np.diff(chosen) > 0).all()


def test_attributes_are_flattened_within_clusters_and_a_seed_repeats():
    arrow = pytest.importorskip('pyarrow')
    rng = np.random.default_rng(0)
    table = arrow.table({'embedding': list(rng.standard_normal((300, 4)).astype(np.float32)),
                         'yaw': [0.0] * 270 + [80.0] * 30})
    balance = Balance(target=60, clusters=(4,), attributes={'yaw': [45]})
    chosen, clusters = balance(table)
    assert len(chosen) == 60 and clusters.max() == 3
    assert (chosen >= 270).sum() >= 25
    assert (balance(table)[0] == chosen).all()


def test_a_share_and_a_target_beyond_what_there_is():
    arrow = pytest.importorskip('pyarrow')
    table = arrow.table({'kind': ['a', 'b', 'a', 'b']})
    assert len(Balance(0.5, None, attributes={'kind': None})(table)[0]) == 2
    assert len(Balance(100, None, attributes={'kind': None})(table)[0]) == 4


@pytest.mark.parametrize('options', [{'target': 0}, {'embedding': None}])
def test_balance_by_nothing_is_refused(options):
    with pytest.raises(ValueError, match='balance'):
        Balance(**options)
