"""Sampling that flattens distributions."""

from __future__ import annotations

import numpy as np
import pytest

from sapiens2.curation.balance import Balance, Partition, filled, joint_chances, labelled, systematic
from sapiens2.curation.clusters import hierarchy
from sapiens2.curation.distribution import Distribution, divergence, entropy

arrow = pytest.importorskip('pyarrow')


def taken(sizes, weights, target):
    return filled(np.array(sizes), np.array(weights, dtype=float), target).tolist()


def test_bins_share_equally_and_pass_on_what_small_ones_leave():
    assert taken([1, 10, 100], [1, 1, 1], 21) == pytest.approx([1, 10, 10])
    assert taken([1, 10, 100], [1, 1, 1], 200) == pytest.approx([1, 10, 100])
    assert taken([5, 5, 5], [1, 1, 1], 4) == pytest.approx([4 / 3] * 3)
    assert taken([100, 100, 0], [1, 3, 1], 40) == pytest.approx([10, 30, 0])
    assert taken([100, 20], [0, 1], 30) == pytest.approx([10, 20])


def test_bins():
    labels, bins = labelled([None, 0.5, 1.5, float('nan'), 9], [1, 2])
    assert labels == ['not known', '< 1', '1 to 2', '>= 2'] and bins.tolist() == [0, 1, 2, 0, 3]
    labels, bins = labelled(['b', 'a', None], None)
    assert labels == ['not known', 'a', 'b'] and bins.tolist() == [2, 1, 0]


def test_clusters_find_groups_that_are_apart():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    features = np.eye(8)[truth] + 0.05 * rng.standard_normal((200, 8))
    fine, coarse = hierarchy(features.astype(np.float32), (8, 4), rng)
    assert all(len(set(truth[coarse == cluster])) == 1 for cluster in range(4))
    assert all(len(set(coarse[fine == cluster])) == 1 for cluster in set(fine))


def test_chances_meet_what_is_wanted_of_several_attributes_at_once():
    rng = np.random.default_rng(0)
    one = rng.choice(3, 3000, p=[0.8, 0.15, 0.05])
    other = np.where(rng.random(3000) < 0.7, one, rng.choice(3, 3000, p=[0.6, 0.3, 0.1]))
    goals = np.full(3, 100.0)
    chances = joint_chances([(one, goals), (other, goals)], 300)
    assert chances.max() <= 1 and chances.sum() == pytest.approx(300)
    for bins in (one, other):
        assert np.bincount(bins, chances) == pytest.approx(goals, abs=2)


def test_what_contradicts_itself_ends_between():
    bins = np.repeat([0, 1], [900, 100])
    chances = joint_chances([(bins, np.array([100.0, 100.0])), (bins, np.array([180.0, 20.0]))], 200)
    assert chances.sum() == pytest.approx(200) and 100 < chances[:900].sum() < 180


def test_a_systematic_sample_takes_as_many_as_the_chances_sum_to():
    rng = np.random.default_rng(0)
    chances = np.repeat([1.0, 1.0, 0.1], [5, 50, 500])
    for _ in range(20):
        chosen = systematic(chances, rng)
        assert np.histogram(chosen, [0, 5, 55, 555])[0].tolist() == [5, 50, 50] and len(set(chosen)) == 105


def test_rare_bins_are_kept_and_frequent_ones_thinned():
    table = arrow.table({'kind': ['a'] * 5 + ['b'] * 50 + ['c'] * 500})
    chosen, clusters = Balance(105, None, attributes={'kind': None})(table)
    assert np.histogram(chosen, [0, 5, 55, 555])[0].tolist() == [5, 50, 50]
    assert (np.diff(chosen) > 0).all() and (clusters == -1).all()


def test_attributes_and_clusters_are_flattened_together_and_a_seed_repeats():
    rng = np.random.default_rng(0)
    group = rng.choice(4, 600, p=[0.7, 0.15, 0.1, 0.05])
    features = np.eye(4)[group] + 0.05 * rng.standard_normal((600, 4))
    table = arrow.table({'embedding': list(features.astype(np.float32)), 'yaw': [0.0] * 500 + [80.0] * 100})
    balance = Balance(target=100, clusters=(8, 4), attributes={'yaw': [45]})
    chosen, clusters = balance(table)
    assert len(chosen) == 100 and clusters.max() == 3
    assert 45 <= (chosen >= 500).sum() <= 55
    assert np.bincount(clusters[chosen]).min() >= 20
    assert (balance(table)[0] == chosen).all()


def test_shares_that_are_asked_for():
    table = arrow.table({'framing': ['face'] * 300 + ['full'] * 300 + [None] * 300})
    chosen, _ = Balance(200, None, attributes={'framing': None}, shares={'framing': {'full': 3, 'not known': 0}})(table)
    assert np.histogram(chosen, [0, 300, 600, 900])[0].tolist() == [50, 150, 0]


def test_a_share_and_a_target_beyond_what_there_is():
    table = arrow.table({'kind': ['a', 'b', 'a', 'b']})
    assert len(Balance(0.5, None, attributes={'kind': None})(table)[0]) == 2
    assert len(Balance(100, None, attributes={'kind': None})(table)[0]) == 4


@pytest.mark.parametrize(('options', 'text'), [
    ({'target': 0}, 'balance.target'), ({'embedding': None}, 'balance needs'),
    ({'attributes': {'yaw': [3, 1]}}, 'balance.attributes.yaw must be edges in rising order'),
    ({'attributes': {'yaw': [1]}, 'shares': {'yw': {}}}, "Did you mean 'yaw'"),
    ({'attributes': {'yaw': [1]}, 'shares': {'yaw': {'< 2': 1}}}, "Did you mean '< 1'"),
    ({'attributes': {'yaw': [1]}, 'shares': {'yaw': {'< 1': -1}}}, 'less than 0'),
])
def test_what_cannot_work_is_refused(options, text):
    with pytest.raises(ValueError, match=text):
        Balance(**options)


def test_figures_before_and_after():
    partition = Partition('kind', ['not known', 'a', 'b'], np.repeat([1, 2], [90, 10]), np.ones(3))
    kept = np.zeros(100, dtype=bool)
    kept[80:] = True
    found = Distribution.of(partition, kept)
    assert found.labels == ['a', 'b'] and found.before.tolist() == [90, 10] and found.after.tolist() == [10, 10]
    assert found.rows()[0] == ('a', '90', '90.0%', '10', '50.0%', '50.0%')
    assert found.summary() == ('kind', '2', '0.47', '1.00', '1.00', '0.531 → 0.000')
    assert found.bars().count('<rect') == 4 and '90.0% → 50.0%' in found.bars()
    assert entropy(np.array([0.25] * 4)) == 2 and entropy(np.array([1.0])) == 0
    assert divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == float('inf')
