"""Checkpoints in many files: a folder to which every process of a training run wrote its part.

The folder holds ``manifest.json``, which lists the other files with their sizes and checksums; ``training.pth``, plain
values; and safetensors files with parts of tensors. A part is some of the rows (entries along the first dimension), and
the header of its file says which: under ``DCP_SHARDING_INFO``, as torch.distributed.checkpoint writes it, whose
``HuggingFaceStorageReader`` reads the folder, too. There is no pickle in it that could run code.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Optional

from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.models.checkpoints.identify import MANIFEST
from sapiens2.models.checkpoints.stored import StoredTensor, map_safetensors

TRAINING = 'training.pth'
FORMAT = 'sapiens2 sharded checkpoint'
VERSION = 1
OFFSETS_KEY = 'DCP_SHARDING_INFO'
# Of each tensor, below that key: where its part begins; and, which is ours, the rows of the whole tensor.
FIRST, ALL = 'saved_offsets', 'all_rows'
_EARLIER = 'An earlier checkpoint of the run is unharmed.'
_CHUNK = 1 << 24
_LONGEST_NAME = 200  # far above what is written, and below what file systems take
# Infinity where a whole number belongs, and nesting without end.
_BROKEN_JSON = (OverflowError, RecursionError)
# Files that have been compared, by this process or by one that has told it, as they were then.
_compared: set[tuple[Any, ...]] = set()


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
        if manifest['format'] != FORMAT or int(manifest['version']) > VERSION:
            raise BadCheckpointFile(path, f'no manifest that this version reads ({FORMAT} {VERSION})',
                                    'Update sapiens2, or take the checkpoint of another run.')
        files = {str(name): {key: int(entry[key]) for key in ('bytes', 'crc32')}
                 for name, entry in manifest['files'].items()}
    except (ValueError, KeyError, TypeError, AttributeError, *_BROKEN_JSON) as error:
        raise BadCheckpointFile(path, 'a damaged manifest', _EARLIER) from error
    if any('/' in name or '\\' in name or len(name) > _LONGEST_NAME for name in files):
        raise BadCheckpointFile(path, 'a damaged manifest', _EARLIER)
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
    """Read the named files of a checkpoint and compare them with the manifest; each once, as long as it stays as it is.

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
        if _identity(path, files[name]) in _compared:
            continue
        if describe_file(path) != files[name]:
            raise BadCheckpointFile(path, 'a file that has changed since it was written (its checksum differs)',
                                    f'Copy it again; if it is the original, the disk is failing. {_EARLIER}')
        _compared.add(_identity(path, files[name]))


def note_compared(folder: Path, files: Mapping[str, Mapping[str, int]]) -> None:
    """Let ``check_files`` of this process pass over files that other processes have compared."""
    _compared.update(_identity(folder / name, entry) for name, entry in files.items())


def _identity(path: Path, entry: Mapping[str, int]) -> tuple[Any, ...]:
    status = path.stat()
    return os.path.abspath(path), status.st_ino, status.st_size, status.st_mtime_ns, entry['crc32']


def _offsets(path: Path, metadata: Mapping[str, str],
             names: Iterable[str]) -> dict[str, tuple[list[int], Optional[int]]]:
    """Of each tensor, where the part that lies in a file begins: along each dimension, or [] for a scalar; and the rows
    of the whole tensor, None where that is not noted."""
    try:
        entries = json.loads(metadata.get(OFFSETS_KEY, '{}'))
        noted = {name: entries.get(name, {}) for name in names}
        return {name: ([int(first) for first in entry.get(FIRST) or ()], int(entry[ALL]) if ALL in entry else None)
                for name, entry in noted.items()}
    except (ValueError, TypeError, AttributeError, *_BROKEN_JSON) as error:
        raise BadCheckpointFile(path, f'a file whose header says in no known way which rows it holds ({OFFSETS_KEY})',
                                _EARLIER) from error


def open_sharded(folder: Path) -> tuple[dict[str, StoredTensor], tuple[Path, ...]]:
    """All tensors of a folder, each put together from its parts when it is read, and the files that they lie in.

    Names begin with what the tensor is of: ``state_dict.``, ``training_weights.``, ``averaged_weights.`` or
    ``optimizer.``. All files are read once and compared with the manifest (``check_files``).

    Raises:
        BadCheckpointFile: if a file is missing or damaged, or parts of a tensor are missing.
    """
    files = read_manifest(folder)
    check_files(folder, files, files)
    shards = tuple(folder / name for name in files if name.endswith('.safetensors'))
    parts: dict[str, list[tuple[int, StoredTensor]]] = {}
    rows: dict[str, Optional[int]] = {}
    for path in shards:
        tensors, metadata = map_safetensors(path)
        offsets = _offsets(path, metadata, tensors)
        for name, stored in tensors.items():
            begins, rows[name] = offsets[name]
            first, *others = begins or [0]
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
        if rows[name] is not None and end < rows[name]:
            raise BadCheckpointFile(folder, f'a sharded checkpoint in which rows {end} to {rows[name]} of {name} are '
                                    'missing', _EARLIER)
        whole[name] = pieces[0][1] if len(pieces) == 1 else StoredTensor.concatenate(stored for _, stored in pieces)
    return whole, shards
