"""Folders of sharded runs whose description is of another version, or damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from sapiens2.models.checkpoints import BadCheckpointFile
from sapiens2.models.checkpoints.sharded import (FORMAT, MANIFEST, OFFSETS_KEY, VERSION, describe_file, manifest_text,
                                                 open_sharded, read_manifest)


def write(folder: Path, offsets: str) -> Path:
    """A folder with one tensor."""
    path = folder / 'shard-00001-of-00001.safetensors'
    save_file({'state_dict.a': torch.ones(2, 3)}, path, metadata={OFFSETS_KEY: offsets})
    (folder / MANIFEST).write_text(manifest_text({path.name: describe_file(path)}), encoding='utf-8')
    return folder


@pytest.mark.parametrize('manifest, message', [
    ({'format': FORMAT, 'version': VERSION + 1, 'files': ['laid out otherwise']}, 'Update sapiens2'),
    ({'format': 'of another program', 'version': 1, 'files': {}}, 'no manifest that this version reads'),
    ({'format': FORMAT, 'version': VERSION, 'files': ['laid out otherwise']}, 'a damaged manifest'),
    ({'format': FORMAT, 'version': VERSION, 'files': {'../a': {'bytes': 1, 'crc32': 1}}}, 'a damaged manifest'),
    ([], 'a damaged manifest')])
def test_manifests_that_cannot_be_read(tmp_path: Path, manifest: Any, message: str) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(manifest), encoding='utf-8')
    with pytest.raises(BadCheckpointFile, match=message):
        read_manifest(tmp_path)


@pytest.mark.parametrize('offsets', ['{', '[]', '{"state_dict.a": 3}', '{"state_dict.a": {"saved_offsets": ["x", 0]}}',
                                     '{"state_dict.a": {"saved_offsets": 5}}'])
def test_header_that_does_not_say_which_rows(tmp_path: Path, offsets: str) -> None:
    with pytest.raises(BadCheckpointFile, match='shard-00001-of-00001.safetensors .* which rows it holds'):
        open_sharded(write(tmp_path, offsets))


@pytest.mark.parametrize('offsets', ['{}', '{"state_dict.a": {"saved_offsets": [0, 0]}}'])
def test_header_that_says_so(tmp_path: Path, offsets: str) -> None:
    tensors, _ = open_sharded(write(tmp_path, offsets))
    assert torch.equal(tensors['state_dict.a'].read(), torch.ones(2, 3))
