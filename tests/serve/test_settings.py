"""Which networks a server offers."""

from __future__ import annotations

import pytest

from sapiens2.serve import NetworkSpec, network_specs
from sapiens2.utils.tasks import TASKS


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ('a', 'b', 'c=d'):
        (tmp_path / name).touch()


def test_tasks_without_weights_are_not_offered(files):
    assert network_specs(['1b'], ['seg=a', 'pose=c=d']) == (
        NetworkSpec('pose', 'sapiens2_1b', 'c=d'), NetworkSpec('seg', 'sapiens2_1b', 'a'))


def test_random_offers_the_others(files):
    specs = network_specs(['1b'], ['random', 'seg=a', 'pose=random'])
    assert {spec.task: spec.weights for spec in specs} == {**dict.fromkeys(TASKS, 'random'), 'seg': 'a'}


def test_several_models(files):
    specs = network_specs(['0.4b', '1b', '1b'], ['0.4b:seg=a', '1b:seg=b'])
    assert [(spec.model, spec.weights) for spec in specs] == [('sapiens2_0.4b', 'a'), ('sapiens2_1b', 'b')]


@pytest.mark.parametrize('models, given, message', [
    (['1b'], [], 'no checkpoint for 1b'),
    (['1b'], ['a'], 'must be TASK=FILE'),
    (['1b'], ['seg='], 'must be TASK=FILE'),
    (['1b'], ['segg=a'], "Did you mean 'seg'"),
    (['1b'], ['seg=a', 'seg=b'], 'has a already'),
    (['1b', '0.4b'], ['seg=a'], 'of which model'),
    (['1b'], ['0.4b:seg=a'], 'model that is served'),
    (['9b'], ['random'], '9b'),
])
def test_what_does_not_fit_is_named(files, models, given, message):
    with pytest.raises(ValueError, match=message):
        network_specs(models, given)


def test_a_missing_file_is_named_at_the_start(files):
    with pytest.raises(FileNotFoundError, match='lost.safetensors'):
        network_specs(['1b'], ['seg=lost.safetensors'])
