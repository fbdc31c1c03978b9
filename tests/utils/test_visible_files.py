"""Folders without their hidden files, and who looks into them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapiens2.apis.journal import content_id
from sapiens2.models.checkpoints import BadCheckpointFile
from sapiens2.models.checkpoints.hub import _choose
from sapiens2.models.checkpoints.identify import find_weights
from sapiens2.export.info import file_hash
from sapiens2.utils.visible_files import visible_files

HIDDEN = ('._a.safetensors', '.partial-host-1-2.safetensors', '.cache/b.safetensors')


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / '.hidden' / 'root'  # above, it does not matter
    _touch(root, 'b.json', 'a.txt', 'sub/c.json', '._b.json', '.git/d.json', 'sub/.partial-x.json')
    assert visible_files(root, '*.json', '*.txt', 'b.*') == [root / 'a.txt', root / 'b.json']
    assert visible_files(root, '**/*.json') == [root / 'b.json', root / 'sub' / 'c.json']
    assert visible_files(tmp_path / 'none', '*') == []


def test_weights_in_folders(tmp_path: Path) -> None:
    _touch(tmp_path, 'a.safetensors')
    plain = content_id(tmp_path), file_hash(tmp_path)
    _touch(tmp_path, *HIDDEN)
    assert (content_id(tmp_path), file_hash(tmp_path)) == plain
    assert _choose(tmp_path, 'owner/repository') == tmp_path / 'a.safetensors'
    with pytest.raises(BadCheckpointFile, match=r'Name one of its files: a\.safetensors\.$'):
        find_weights(tmp_path)
