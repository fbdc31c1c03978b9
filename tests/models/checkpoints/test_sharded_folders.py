"""Checkpoints in folders: whatever reads one compares its files with their checksums, once."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
import torch

from sapiens2.cli.main import main
from sapiens2.models.checkpoints import open_checkpoint, sharded
from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.models.checkpoints.identify import MANIFEST
from sapiens2.models.checkpoints.sharded import (ALL, FIRST, OFFSETS_KEY, TRAINING, check_files, describe_file,
                                                 manifest_text, note_compared, open_sharded, read_manifest)
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.write import write_safetensors

WEIGHT = torch.arange(12.0).view(6, 2)
NAME = 'state_dict.layer.weight'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tensor of six rows, two in each of three files."""
    root = tmp_path / 'iter_4'
    root.mkdir()
    for number in range(3):
        noted = {NAME: {FIRST: [2 * number, 0], ALL: 6}}
        write_safetensors(root / f'shard-{number}.safetensors', {NAME: StoredTensor((WEIGHT[2 * number:][:2],))},
                          metadata={OFFSETS_KEY: json.dumps(noted)})
    torch.save({'meta': {'iter': 4}}, root / TRAINING)
    write_manifest(root)
    return root


def write_manifest(root: Path) -> None:
    names = [path.name for path in root.iterdir() if path.name != MANIFEST]
    (root / MANIFEST).write_text(manifest_text({name: describe_file(root / name) for name in names}))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize('name', ['shard-1.safetensors', TRAINING])
def test_a_flipped_bit_is_found_wherever_a_folder_is_read(folder: Path, name: str, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert torch.equal(open_sharded(folder)[0][NAME].read(), WEIGHT)
    flip(folder / name)
    for read in (open_sharded, open_checkpoint):
        with pytest.raises(BadCheckpointFile, match=f'{name}.*checksum differs.*Copy it again'):
            read(folder)
    assert main(['convert', str(folder), str(tmp_path / 'a.safetensors'), '--to', 'released']) == 2
    assert 'checksum differs' in capsys.readouterr().err and not (tmp_path / 'a.safetensors').exists()


def test_files_are_read_once_until_they_change(folder: Path) -> None:
    files = read_manifest(folder)
    with mock.patch.object(sharded, 'describe_file', side_effect=describe_file) as reads:
        open_sharded(folder)
        open_checkpoint(folder)
        assert reads.call_count == 4
        flip(folder / 'shard-0.safetensors')
        with pytest.raises(BadCheckpointFile):
            check_files(folder, files, files)


def test_what_another_process_has_compared_is_not_read(folder: Path) -> None:
    note_compared(folder, read_manifest(folder))
    with mock.patch.object(sharded, 'describe_file', side_effect=AssertionError):
        open_sharded(folder)


@pytest.mark.parametrize('gone, rows', [(0, '0 to 2'), (1, '2 to 4'), (2, '4 to 6')])
def test_rows_of_a_file_that_the_manifest_does_not_list_are_missed(folder: Path, gone: int, rows: str) -> None:
    (folder / f'shard-{gone}.safetensors').unlink()
    with pytest.raises(BadCheckpointFile, match=f'file shard-{gone}.safetensors is missing'):
        open_sharded(folder)
    write_manifest(folder)
    with pytest.raises(BadCheckpointFile, match=f'rows {rows} of {NAME} are missing'):
        open_sharded(folder)


def test_truncated_and_foreign_files(folder: Path) -> None:
    (folder / 'extra.safetensors').write_bytes(b'no checkpoint')  # which the manifest does not list
    open_sharded(folder)
    path = folder / 'shard-2.safetensors'
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(BadCheckpointFile, match='bytes where'):
        open_sharded(folder)
