"""Which networks a server offers."""

from __future__ import annotations

import pytest

from sapiens2.cli.main import main
from sapiens2.export.export import export_network
from sapiens2.models.checkpoints.errors import CheckpointMismatch
from sapiens2.serve import NetworkSpec, network_specs
from sapiens2.serve.networks import Networks
from sapiens2.utils.tasks import TASKS
from sapiens2.weights import embedded_weights


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


@pytest.fixture(scope='module')
def exported(tmp_path_factory):
    pytest.importorskip('onnxscript')
    pytest.importorskip('onnxruntime')
    file = tmp_path_factory.mktemp('exported') / 'seg.onnx'
    export_network('seg', file, 'tiny', 'random', img_size=(64, 48))
    return file


def test_an_exported_network_says_which_model_it_is(exported, files, tmp_path):
    spec = NetworkSpec('seg', 'sapiens2_tiny', str(exported))
    for models, prefix in (((), ''), (['tiny'], ''), (['sapiens2_tiny', '1b'], ''), (['tiny'], 'tiny:')):
        given = [f'{prefix}seg={exported}'] + (['1b:pose=a'] if '1b' in models else [])
        assert spec in network_specs(models, given)
    assert {spec, NetworkSpec('pose', 'sapiens2_1b', 'a')} <= set(network_specs((), [f'seg={exported}', 'pose=a']))
    with pytest.raises(ValueError, match='holds the network sapiens2_tiny: serve that model'):
        network_specs(['1b'], [f'seg={exported}'])
    with pytest.raises(ValueError, match='is a network for seg, not for pose'):
        network_specs((), [f'pose={exported}'])


def test_weights_are_checked_before_a_visitor_meets_them(exported):
    seg = embedded_weights('seg', 'sapiens2_tiny')
    for task, model in (('normal', 'sapiens2_tiny'), ('seg', 'sapiens2_0.1b')):
        with pytest.raises(CheckpointMismatch, match='The file holds a Sapiens2 backbone, sapiens2_tiny'):
            Networks([NetworkSpec(task, model, str(seg))], 'cpu').check()
    Networks([NetworkSpec('seg', 'sapiens2_tiny', str(seg)), NetworkSpec('seg', 'sapiens2_tiny', 'random')]).check()
    with pytest.raises(ValueError, match='computes in the dtype it was written with'):
        Networks([NetworkSpec('seg', 'sapiens2_tiny', str(exported))], 'cpu', 'bf16').check()
    with pytest.raises(ValueError, match='unknown dtype'):
        Networks([], 'cpu', 'f8')


@pytest.mark.parametrize('words, message', [
    (['--port', '65536'], 'at most 65535'), (['--model', ''], 'empty name'),
    (['--detector', 'nofolder'], '--detector nofolder: no such file or folder')])
def test_options_that_cannot_be_are_refused(words, message, capsys):
    try:
        assert main(['serve', *([] if words[0] == '--model' else ['--model', 'tiny']), *words]) == 2
    except SystemExit as end:
        assert end.code == 2
    assert message in capsys.readouterr().err
