"""Probes of class tokens: features that hold the answer reach 100 %, noise reaches chance."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sapiens2.evaluation.probes import classify
from sapiens2.evaluation.probes.images import ProbeData, ProbeImage
from sapiens2.evaluation.probes.retrieval import chance, identity_set, neighbours, retrieval

VALUES = ('cat', 'dog', 'owl')


def made_up(count: int = 300, **more: str) -> ProbeData:
    images = [ProbeImage(Path(f'{index}.png'), f'{index}.png', 'val' if index % 3 == 0 else 'train',
                         {'animal': VALUES[index // 3 % 3], **more}) for index in range(count)]
    return ProbeData(Path('made_up'), tuple(images))


def one_hot(data: ProbeData) -> torch.Tensor:
    torch.manual_seed(0)
    labels = torch.tensor([VALUES.index(image.attributes['animal']) for image in data.images])
    return torch.nn.functional.one_hot(labels, 3).float() + 0.01 * torch.randn(len(labels), 3)


@pytest.mark.parametrize('run', [classify.nearest, classify.linear])
def test_features_that_hold_the_answer(run):
    data = made_up()
    labels, = classify.label_sets(data)
    assert run(one_hot(data), labels) == {'accuracy_percent': 100, 'balanced_percent': 100}


@pytest.mark.parametrize('run', [classify.nearest, classify.linear])
def test_noise_gives_chance(run):
    data = made_up(900)
    labels, = classify.label_sets(data)
    noise = torch.randn(900, 16, generator=torch.Generator().manual_seed(0))
    assert run(noise, labels)['balanced_percent'] == pytest.approx(100 / 3, abs=8)


def test_one_picture_of_each_class_is_enough_for_perfect_features():
    data = made_up()
    labels, = classify.label_sets(data)
    figures = classify.linear_few(one_hot(data), labels, 1, torch.Generator().manual_seed(0))
    assert figures['accuracy_percent'] == 100
    assert classify.few_is_fewer(labels, 10) and not classify.few_is_fewer(labels, 1000)


def test_validation_pictures_are_not_learnt_from():
    """Validation pictures alone carry the answer: nothing can be learnt from the training pictures."""
    data = made_up(900)
    labels, = classify.label_sets(data)
    features = one_hot(data)
    features[data.indices('train')] = torch.randn(600, 3, generator=torch.Generator().manual_seed(1))
    for run in (classify.nearest, classify.linear):
        assert run(features, labels)['balanced_percent'] < 60


def test_values_that_are_too_rare_are_left_out():
    images = list(made_up().images)
    images[1] = ProbeImage(Path('1.png'), '1.png', 'train', {'animal': 'yak'})
    labels, = classify.label_sets(ProbeData(Path('made_up'), tuple(images)))
    assert labels.classes == VALUES
    assert 1 not in labels.train
    assert not classify.label_sets(made_up(6))  # two pictures of each value


def test_why_no_attribute_can_be_probed():
    reason = classify.why_none(made_up(6, identity='ann'))
    assert 'a value needs 5 training pictures and one for validation' in reason
    assert reason.endswith('  animal: cat 2 + 1, dog 2 + 1') and 'identity' not in reason
    bare = ProbeData(Path('made_up'), tuple(ProbeImage(Path('a.png'), 'a.png', split) for split in ('train', 'val')))
    assert classify.why_none(bare) == 'no attribute; give folders of classes or a labels.csv'


def test_balanced_accuracy_and_the_trivial_answer():
    predicted, labels = torch.tensor([0, 0, 0, 0]), torch.tensor([0, 0, 0, 1])
    assert classify.accuracies(predicted, labels, 3) == {'accuracy_percent': 75, 'balanced_percent': 50}
    sets, = classify.label_sets(made_up())
    assert classify.trivial(sets)['balanced_percent'] == pytest.approx(100 / 3)


def test_retrieval_of_perfect_features_and_of_noise():
    data = made_up(900)
    labels, = classify.label_sets(data)
    assert set(retrieval(one_hot(data), labels).values()) == {100}
    noise = torch.randn(900, 16, generator=torch.Generator().manual_seed(0))
    for name, value in retrieval(noise, labels).items():
        assert value == pytest.approx(chance(labels)[name], abs=6)


def test_average_precision_of_a_worked_case():
    images = [ProbeImage(Path(name), name, split, {'animal': animal}) for name, split, animal in (
        *((f't{i}', 'train', 'cat') for i in range(5)), *((f'u{i}', 'train', 'dog') for i in range(5)),
        ('v', 'val', 'cat'), ('w', 'val', 'dog'))]
    data = ProbeData(Path('worked'), tuple(images))
    labels, = classify.label_sets(data)
    # Angles from the query: the cats come 1st, 3rd, 5th, 7th and 9th for v, and the dogs do so for w.
    angles = torch.tensor([1., 3, 5, 7, 9, 2, 4, 6, 8, 10, 0, 20]) / 20
    features = torch.stack((angles.cos(), angles.sin()), 1)
    found = retrieval(features, labels)
    cats = (1 / 1 + 2 / 3 + 3 / 5 + 4 / 7 + 5 / 9) / 5
    dogs = (1 / 1 + 2 / 3 + 3 / 5 + 4 / 7 + 5 / 9) / 5
    assert found['mAP_percent'] == pytest.approx(50 * (cats + dogs))
    assert found['recall_at_1_percent'] == 100


def test_identities_are_looked_for_among_other_validation_pictures():
    images = [ProbeImage(Path(f'{index}'), f'{index}', 'val', {'identity': f'p{index // 2}'}) for index in range(6)]
    people = identity_set(ProbeData(Path('people'), tuple(images)))
    features = torch.eye(3).repeat_interleave(2, 0)
    assert set(retrieval(features, people).values()) == {100}
    assert neighbours(features, [0], [1, 2, 3], 2)[0][0] == 1
    assert identity_set(made_up()) is None


def test_chance_is_exact():
    images = [*(ProbeImage(Path(f't{i}'), f't{i}', 'train', {'animal': 'cat' if i < 2 else 'dog'}) for i in range(12)),
              ProbeImage(Path('v'), 'v', 'val', {'animal': 'cat'})]
    labels = classify.Labels('animal', ('cat', 'dog'), list(range(12)), [12], torch.tensor([0] * 2 + [1] * 10),
                             torch.tensor([0]))
    assert chance(labels) == pytest.approx(dict(
        recall_at_1_percent=100 / 6, recall_at_5_percent=68.182, recall_at_10_percent=98.485, mAP_percent=32.600),
        abs=0.001)
    generator = torch.Generator().manual_seed(0)
    trials = [retrieval(torch.randn(len(images), 8, generator=generator), labels) for _ in range(2000)]
    for name, value in chance(labels).items():
        assert sum(trial[name] for trial in trials) / len(trials) == pytest.approx(value, abs=2.5)
    # Fewer pictures than ranks, of which the only right one is found always, or is not there.
    few = [classify.Labels('animal', ('cat', 'dog'), [0, 1, 2], [3], torch.tensor(values), torch.tensor([0]))
           for values in ([0, 1, 1], [1, 1, 1])]
    assert chance(few[0])['recall_at_5_percent'] == 100 and set(chance(few[1]).values()) == {0}
