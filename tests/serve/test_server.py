"""The running server, asked by programs."""

from __future__ import annotations

import dataclasses
import json
import logging
import socket
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import free_port

from sapiens2.cli.main import main
from sapiens2.serve.answer import WHOLE

gradio_client = pytest.importorskip('gradio_client', reason='sapiens2[serve] is not installed')
MODEL = 'sapiens2_tiny'


@pytest.fixture
def ask(server, tmp_path):
    """(status, {name of a file: path}) of a request."""
    def run(upload, task='seg', model=MODEL, people=WHOLE, boxes=''):
        client = gradio_client.Client(server, verbose=False, download_files=str(tmp_path / 'downloads'))
        outputs = client.predict(upload, task, model, people, boxes, api_name='/run')
        return outputs[0], [value for value in _strings(outputs[1:]) if Path(value).is_file()]

    return run


def _strings(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) and len(value) < 1000 else []


def _logged(caplog):
    return [record for record in caplog.records if record.levelno >= logging.INFO and record.name == 'sapiens2.serve']


def test_a_program_gets_the_files(ask, make_photo, caplog):
    caplog.set_level(logging.INFO, 'sapiens2.serve')
    status, files = ask(gradio_client.handle_file(make_photo('photo.png', 160, 120)), 'pose')
    assert 's2-done' in status and '1 person' in status
    archive = next(file for file in files if file.endswith('.zip'))
    with zipfile.ZipFile(archive) as content:
        document = json.loads(content.read('pose/picture.json'))
    image = document['image']
    assert image['file'] is None and (image['width'], image['height']) == (160, 120)
    assert [record.getMessage().partition(',')[0] for record in _logged(caplog)] == \
        [f'pose {MODEL}: 160 x 120 pixels']


def test_two_at_once_get_their_own(ask, make_photo):
    photos = [make_photo('a.png', 160, 120), make_photo('b.png', 100, 140)]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda photo: ask(gradio_client.handle_file(photo), 'pose'), photos))
    for (_, files), size in zip(answers, ((160, 120), (100, 140))):
        with zipfile.ZipFile(next(file for file in files if file.endswith('.zip'))) as content:
            image = json.loads(content.read('pose/picture.json'))['image']
        assert (image['width'], image['height']) == size


@pytest.mark.parametrize('content, message', [
    (b'<svg xmlns="http://www.w3.org/2000/svg"/>', 'SVG drawing'),
    (b'<!DOCTYPE html><script>alert(1)</script>', 'HTML page'),
    (b'', 'empty'),
])
def test_an_invalid_file_gives_a_message_and_one_line(ask, tmp_path, caplog, capfd, content, message):
    caplog.set_level(logging.INFO, 'sapiens2.serve')
    (tmp_path / 'photo.png').write_bytes(content)
    status, files = ask(gradio_client.handle_file(tmp_path / 'photo.png'))
    assert 'role="alert"' in status and message in status and not files
    assert str(tempfile.gettempdir()) not in status
    assert len(_logged(caplog)) == 1 and 'Traceback' not in capfd.readouterr().err


def test_other_mistakes_are_told_too(ask, make_photo):
    photo = gradio_client.handle_file(make_photo('photo.png', 160, 120))
    assert 'Upload a photograph first' in ask(None)[0]
    assert 'no box yet' in ask(photo, 'pose', people='boxes')[0]
    big = gradio_client.handle_file(make_photo('big.jpg', 600, 500))
    assert 'too many pixels' in ask(big)[0]


def _call(server, *values):
    """What the server answers to a request as its page sends it, without the client's care for files."""
    body = json.dumps({'data': values}).encode()
    address = f'{server.rstrip("/")}/gradio_api/call/run'
    request = urllib.request.Request(address, body, {'Content-Type': 'application/json'})
    with urllib.request.urlopen(request) as answer:
        event = json.load(answer)['event_id']
    with urllib.request.urlopen(f'{address}/{event}') as answer:
        return answer.read().decode()


def test_only_what_is_offered_and_uploaded_is_taken(server):
    for task, model in (('matting', MODEL), ('seg', 'sapiens2_1b')):
        assert 'event: error' in _call(server, None, task, model, WHOLE, '')
    with socket.create_server(('127.0.0.1', 0)) as listener:
        listener.settimeout(0.5)
        address = f'http://127.0.0.1:{listener.getsockname()[1]}/a.png'
        for values in ({'path': address}, {'path': address, 'url': address}, {'path': '/etc/hostname'}):
            answer = _call(server, {**values, 'meta': {'_type': 'gradio.FileData'}}, 'seg', MODEL, WHOLE, '')
            assert 'event: error' in answer and 's2-done' not in answer
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_file_that_is_too_large_is_not_taken(ask, tmp_path, settings):
    (tmp_path / 'large.png').write_bytes(b'x' * (settings.max_bytes + 1))
    with pytest.raises(Exception, match='(?i)size|large|413'):
        ask(gradio_client.handle_file(tmp_path / 'large.png'))


def test_a_fault_of_the_server_is_told_without_its_reason(ask, make_photo, monkeypatch, caplog):
    from sapiens2.serve import page
    monkeypatch.setattr(page, 'make_answer', lambda *args: (_ for _ in ()).throw(OSError('/secret/folder is full')))
    status, _ = ask(gradio_client.handle_file(make_photo('photo.png', 160, 120)))
    assert 'fault of the server' in status and 'secret' not in status
    assert '/secret/folder is full' in caplog.text


def test_headers_keep_the_browser_here(server):
    with urllib.request.urlopen(server) as answer:
        policy, page = answer.headers['content-security-policy'], answer.read().decode()
    assert "default-src 'self'" in policy and 'http' not in policy
    assert 'fonts.googleapis' not in page and 'cdnjs' not in page
    foreign = urllib.request.Request(server, headers={'Host': 'elsewhere.example'})
    with pytest.raises(urllib.error.HTTPError, match='400'):
        urllib.request.urlopen(foreign)


def test_uploads_and_results_are_deleted(settings, make_photo, tmp_path, monkeypatch):
    from sapiens2.serve.server import serving
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'temp'))
    (tmp_path / 'temp').mkdir()

    def files():
        return [file for file in (tmp_path / 'temp').glob('sapiens2-serve-*/**/*') if file.is_file()]

    brief = dataclasses.replace(settings, port=free_port(), keep_seconds=2)
    with serving(brief) as url:
        client = gradio_client.Client(url, verbose=False, download_files=str(tmp_path / 'downloads'))
        client.predict(gradio_client.handle_file(make_photo('photo.png', 160, 120)), 'normal', MODEL, WHOLE, '',
                       api_name='/run')
        assert any(file.suffix == '.zip' for file in files())
        assert not any(file.suffix == '.npz' for file in files()), 'the archive has the numbers'
        end = time.monotonic() + 30
        while files() and time.monotonic() < end:
            time.sleep(0.3)
        assert not files()
    assert not list((tmp_path / 'temp').glob('sapiens2-serve-*'))


def test_a_port_in_use_is_named(capsys):
    with socket.create_server(('127.0.0.1', 0)) as other:
        port = other.getsockname()[1]
        assert main(['serve', '--model', 'tiny', '--weights', 'random', '--detector', 'none', '--port', str(port)]) == 2
    assert f'port {port}' in capsys.readouterr().err
