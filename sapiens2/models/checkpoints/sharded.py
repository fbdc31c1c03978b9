"""Checkpoints in many files: a folder to which every process of a training run wrote its part.

The folder holds ``manifest.json``, which lists the other files with their sizes and checksums; ``training.pth``, plain
values; and safetensors files with parts of tensors. A part is some of the rows (entries along the first dimension), and
the header of its file says which: under ``DCP_SHARDING_INFO``, as torch.distributed.checkpoint writes it, whose
``HuggingFaceStorageReader`` reads the folder, too. There is no pickle in it that could run code.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.models.checkpoints.identify import MANIFEST
from sapiens2.models.checkpoints.stored import StoredTensor, map_safetensors

TRAINING = 'training.pth'
FORMAT = 'sapiens2 sharded checkpoint'
VERSION = 1
OFFSETS_KEY = 'DCP_SHARDING_INFO'
_EARLIER = 'An earlier checkpoint of the run is unharmed.'
_CHUNK = 1 << 24


def is_sharded(path: Path) -> bool:
    """Whether ``path`` is such a folder."""
    return path.is_dir() and (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, dict[str, int]]:
    """Size ``bytes`` and checksum ``crc32`` of each file of the checkpoint, by its name.

    Raises:
        BadCheckpointFile: if there is no manifest, or it is damaged or of a newer version.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BadCheckpointFile(folder, f'a folder without {MANIFEST}', 'It was not written to its end. ' + _EARLIER)
    try:
        manifest = json.loads(path.read_bytes())
        known = manifest['format'] == FORMAT
        version = int(manifest['version'])
        files = {str(name): {key: int(entry[key]) for key in ('bytes', 'crc32')}
                 for name, entry in manifest['files'].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadCheckpointFile(path, 'a damaged manifest', _EARLIER) from error
    if not known or version > VERSION or any('/' in name or '\\' in name for name in files):
        raise BadCheckpointFile(path, f'no manifest that this version reads ({FORMAT} {VERSION})',
                                'Update sapiens2, or take the checkpoint of another run.')
    return files


def manifest_text(files: dict[str, dict[str, int]]) -> str:
    """The content of ``manifest.json`` for these files."""
    return json.dumps({'format': FORMAT, 'version': VERSION, 'files': dict(sorted(files.items()))}, indent=1) + '\n'


def describe_file(path: Path) -> dict[str, int]:
    """The manifest's entry of a file: ``bytes`` and ``crc32``."""
    checksum = 0
    with path.open('rb') as file:
        while chunk := file.read(_CHUNK):
            checksum = zlib.crc32(chunk, checksum)
    return {'bytes': path.stat().st_size, 'crc32': checksum}


def check_files(folder: Path, names: Iterable[str], files: dict[str, dict[str, int]]) -> None:
    """Read the named files of a checkpoint and compare them with the manifest.

    Raises:
        BadCheckpointFile: naming the first that is missing, cut off or changed.
    """
    for name in names:
        path = folder / name
        if not path.is_file():
            raise BadCheckpointFile(folder, f'a sharded checkpoint whose file {name} is missing',
                                    f'Copy the folder again, whole. {_EARLIER}')
        size, expected = path.stat().st_size, files[name]['bytes']
        if size != expected:
            raise BadCheckpointFile(path, f'a file of {size:,} bytes where {expected:,} were written',
                                    f'Copy the folder again, whole. {_EARLIER}')
        if describe_file(path) != files[name]:
            raise BadCheckpointFile(path, 'a file that has changed since it was written (its checksum differs)',
                                    f'Copy it again; if it is the original, the disk is failing. {_EARLIER}')


def open_sharded(folder: Path) -> tuple[dict[str, StoredTensor], tuple[Path, ...]]:
    """All tensors of a folder, each put together from its parts when it is read, and the files that they lie in.

    Names begin with what the tensor is of: ``state_dict.``, ``training_weights.``, ``averaged_weights.`` or
    ``optimizer.``. Sizes are checked; the content is not (``check_files`` does).

    Raises:
        BadCheckpointFile: if a file is missing or damaged, or parts of a tensor are missing.
    """
    files = read_manifest(folder)
    shards = tuple(folder / name for name in files if name.endswith('.safetensors'))
    parts: dict[str, list[tuple[int, StoredTensor]]] = {}
    for path in shards:
        if not path.is_file():
            check_files(folder, [path.name], files)
        tensors, metadata = map_safetensors(path)
        offsets: dict[str, Any] = json.loads(metadata.get(OFFSETS_KEY, '{}'))
        for name, stored in tensors.items():
            first, *others = offsets.get(name, {}).get('saved_offsets') or [0]
            if any(others):
                raise BadCheckpointFile(path, f'a file that holds columns of {name}',
                                        'Parts must be rows, as this program writes them.')
            parts.setdefault(name, []).append((first, stored))
    whole: dict[str, StoredTensor] = {}
    for name, pieces in parts.items():
        pieces.sort(key=lambda piece: piece[0])
        end = 0
        for first, stored in pieces:
            if first != end:
                raise BadCheckpointFile(folder, f'a sharded checkpoint in which rows {end} to {first} of {name} are '
                                        'missing', _EARLIER)
            end += stored.shape[0] if stored.shape else 1
        whole[name] = pieces[0][1] if len(pieces) == 1 else StoredTensor.concatenate(stored for _, stored in pieces)
    return whole, shards
