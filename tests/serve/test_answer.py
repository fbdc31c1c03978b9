"""What a request gives, without a browser."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
import zipfile

import numpy as np
import pytest
import torch

from sapiens2.detectors.base import People, PersonDetector
from sapiens2.serve.answer import BOXES, DETECT, WHOLE, Request, make_answer
from sapiens2.serve.deadline import Deadline
from sapiens2.serve.networks import Networks
from sapiens2.serve.refusals import Refused, TookTooLong

MODEL = 'sapiens2_tiny'


@pytest.fixture(scope='module')
def networks(settings):
    return Networks(settings.networks, settings.device, settings.dtype)


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (90, 70, 3), dtype=np.uint8)


def _answer(task, image, networks, settings, folder, **options):
    return make_answer(Request(image, networks.spec(task, MODEL), **options), networks, settings, folder)


@pytest.mark.parametrize('task, extra, names', [
    ('pose', 'points', ['pose/picture.json', 'pose/picture.picture.jpg']),
    ('seg', 'parts', ['seg/picture.npz', 'seg/picture.picture.jpg', 'seg/picture.png']),
    ('normal', None, ['normal/picture.npz', 'normal/picture.picture.jpg', 'normal/picture.png']),
    ('albedo', None, ['albedo/picture.npz', 'albedo/picture.picture.jpg', 'albedo/picture.png']),
])
def test_each_task(task, extra, names, image, networks, settings, tmp_path):
    answer = _answer(task, image, networks, settings, tmp_path)
    assert answer.before.shape == answer.after.shape == image.shape
    np.testing.assert_array_equal(answer.before, image[..., ::-1])
    for name in ('points', 'parts', 'surface'):
        assert (getattr(answer, name) is not None) == (name == extra)
    assert 'untrained' in answer.summary
    with zipfile.ZipFile(answer.archive) as archive:
        assert set(names) <= set(archive.namelist())
        content = b''.join(archive.read(name) for name in archive.namelist())
    assert str(tmp_path).encode() not in content


def test_pointmap_has_a_surface(image, networks, settings, tmp_path):
    answer = _answer('pointmap', image, networks, settings, tmp_path)
    assert answer.surface.read_bytes().startswith(b'glTF') and ' m (red)' in answer.summary
    with zipfile.ZipFile(answer.archive) as archive:
        assert 'pointmap/picture.glb' in archive.namelist()


def test_large_pictures_are_shrunk_for_the_page_only(networks, settings, tmp_path):
    answer = _answer('albedo', np.zeros((100, 2000, 3), np.uint8), networks, settings, tmp_path)
    assert answer.before.shape == answer.after.shape == (80, 1600, 3)
    with zipfile.ZipFile(answer.archive) as archive:
        archive.extract('albedo/picture.npz', tmp_path)
    assert np.load(tmp_path / 'albedo' / 'picture.npz')['albedo'].shape == (100, 2000, 3)


def _people(answer):
    with zipfile.ZipFile(answer.archive) as archive:
        return json.loads(archive.read('pose/picture.json'))


def test_where_people_are(image, networks, settings, tmp_path):
    class Two(PersonDetector):
        def setup(self, device='cpu'):
            pass

        def __call__(self, pictures):
            return [People(np.float32([[0, 0, 30, 60], [30, 5, 60, 80]]), np.float32([0.9, 0.8]))]

    answer = _answer('pose', image, networks, settings, tmp_path / 'a', people=BOXES, boxes='5 6 40 80')
    assert [person['bbox'] for person in _people(answer)['instances']] == [[5, 6, 40, 80]]
    assert len(_people(_answer('pose', image, networks, settings, tmp_path / 'b', people=WHOLE))['instances']) == 1
    with pytest.raises(Refused, match='Nobody finds people here'):
        _answer('pose', image, networks, settings, tmp_path / 'c', people=DETECT)
    found = dataclasses.replace(settings, detector=Two())
    answer = _answer('pose', image, networks, found, tmp_path / 'd', people=DETECT)
    assert len(_people(answer)['instances']) == 2 and answer.summary.startswith('2 people')
    outside = _answer('pose', image, networks, settings, tmp_path / 'e', people=BOXES, boxes='500 500 600 600')
    assert 'Nobody was found' in outside.summary and 'outside the image' in outside.summary


def test_a_network_is_loaded_once_for_all(image, settings, tmp_path, monkeypatch):
    from sapiens2.serve import networks as module
    built = []

    class Counted(module.Sapiens2Inferencer):
        def __init__(self, *args, **options):
            built.append(args[0])
            super().__init__(*args, **options)

    monkeypatch.setattr(module, 'Sapiens2Inferencer', Counted)
    networks, answers = Networks(settings.networks, 'cpu', 'fp32'), {}
    other = np.zeros((50, 60, 3), np.uint8)

    def ask(name, picture):
        answers[name] = _answer('normal', picture, networks, settings, tmp_path / name)

    threads = [threading.Thread(target=ask, args=pair) for pair in (('a', image), ('b', other), ('c', image))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ['normal'] and answers['b'].after.shape == other.shape
    np.testing.assert_array_equal(answers['a'].after, answers['c'].after)


def test_what_takes_too_long_is_stopped_and_the_next_request_runs(image, networks, settings, tmp_path):
    hurried = dataclasses.replace(settings, seconds=1e-4)
    with pytest.raises(TookTooLong, match='longer than 0.0001 s'):
        _answer('seg', image, networks, hurried, tmp_path / 'a')
    assert _answer('seg', image, networks, settings, tmp_path / 'b').summary


def test_a_network_stops_between_its_layers():
    passed = []

    class Slow(torch.nn.Module):
        def forward(self, value):
            passed.append(value)
            time.sleep(0.05)
            return value

    deadline, network = Deadline(), torch.nn.Sequential(*[Slow() for _ in range(20)])
    deadline.watch(network)
    deadline.start(0.12)
    with pytest.raises(TookTooLong):
        network(1)
    assert 1 <= len(passed) < 20
    deadline.stop()
    assert network(1) == 1


def test_a_server_that_ends_stops_what_it_computes(image, settings, tmp_path):
    networks = Networks(settings.networks, 'cpu', 'fp32')
    networks.deadline.cancel()
    with pytest.raises(TookTooLong, match='has been stopped'):
        _answer('normal', image, networks, settings, tmp_path)
