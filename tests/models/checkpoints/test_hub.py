"""Weights by the name of their repository, with a cache that is made here: nothing is downloaded."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sapiens2.models.checkpoints import hub
from sapiens2.utils.model_index import load_model_index

huggingface_hub = pytest.importorskip('huggingface_hub')
COMMIT = 'a' * 40
RELEASE = next(release for release in load_model_index() if release.file and release.task == 'seg')


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A cache with the commits of repositories, which is all there is; any other question is an error."""
    folders: dict[str, Path] = {}

    def download(repository, revision=None, allow_patterns=None, local_files_only=False):
        assert all('pickle' not in pattern and not pattern.endswith('bin') for pattern in allow_patterns)
        if repository in folders and revision in (None, COMMIT):
            return str(folders[repository])
        kind = huggingface_hub.errors.LocalEntryNotFoundError
        raise kind('outgoing traffic has been disabled')

    monkeypatch.setattr(huggingface_hub, 'snapshot_download', download)
    monkeypatch.setattr(hub, '_said', set())

    def add(repository: str, *files: str) -> Path:
        folders[repository] = tmp_path / repository.replace('/', '--') / COMMIT
        for name in files:
            folders[repository].mkdir(parents=True, exist_ok=True)
            (folders[repository] / name).write_bytes(b'content')
        return folders[repository]

    return add


def test_a_file_is_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('owner').mkdir()
    Path('owner/name').write_bytes(b'weights')
    assert hub.local_weights('owner/name') == Path('owner/name')
    for name in ('owner/other', 'none.safetensors', 'nowhere/none.pth', '/a/b/c'):
        with pytest.raises(FileNotFoundError, match='no such file of weights'):
            hub.local_weights(name)


def test_the_released_file_of_a_repository(cached, caplog):
    folder = cached(RELEASE.repository, RELEASE.file, 'other.safetensors')
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    from mmengine.logging import MMLogger
    logger = MMLogger.get_current_instance()
    logger.addHandler(handler)
    try:
        for _ in range(2):
            assert hub.local_weights(RELEASE.repository) == folder / RELEASE.file
        assert hub.local_weights(f'{RELEASE.repository}@{COMMIT}') == folder / RELEASE.file
    finally:
        logger.removeHandler(handler)
    assert len(lines) == 1 and COMMIT in lines[0] and RELEASE.weights_license in lines[0]


def test_other_repositories(cached):
    folder = cached('me/one', 'tuned.safetensors')
    assert hub.local_weights('me/one') == folder / 'tuned.safetensors'
    folder = cached('me/transformers', 'config.json', 'model-00001-of-00002.safetensors',
                    'model.safetensors.index.json')
    assert hub.local_weights('me/transformers') == folder
    cached('me/two', 'a.safetensors', 'b.safetensors')
    with pytest.raises(ValueError, match='several files, a.safetensors, b.safetensors'):
        hub.local_weights('me/two')


def test_what_is_nowhere_is_named(cached):
    wrong = RELEASE.repository[:-1]
    with pytest.raises(FileNotFoundError, match='disabled') as found:
        hub.local_weights(f'{wrong}@main')
    assert f'{wrong} at revision main' in str(found.value) and 'Did you mean' in str(found.value)
    cached('me/empty', 'README.md')
    with pytest.raises(FileNotFoundError, match='no safetensors'):
        hub.local_weights('me/empty')


def test_a_missing_package_is_said(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'huggingface_hub', None)
    with pytest.raises(ImportError, match=r'sapiens2\[hub\]'):
        hub.local_weights('me/one')
