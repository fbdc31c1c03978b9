"""Tells from its first bytes and its directory what a file is, and refuses by name what is no checkpoint."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from sapiens2.models.checkpoints.errors import BadCheckpointFile
from sapiens2.utils.file_kind import JSON_TEXT, UNKNOWN, describe_content
from sapiens2.utils.suggest import nearest
from sapiens2.utils.visible_files import visible_files

SAFETENSORS, TORCH, INDEX = 'safetensors', 'torch', 'safetensors index'

MANIFEST = 'manifest.json'  # of the folder of a sharded run
WEIGHT_NAMES = ('model.safetensors', 'model.safetensors.index.json')
PICKLE_PROTOCOLS = (b'\x02', b'\x03', b'\x04', b'\x05')
DOWNLOAD_AGAIN = 'Download it again.'


def find_weights(path: Path) -> Path:
    """The file to read for ``path``: itself, or the weights of a directory in transformers' format or of a sharded run.

    Raises:
        FileNotFoundError: if there is nothing at ``path``; similar names beside it are offered.
        BadCheckpointFile: if it is a directory without either.
    """
    if not path.exists():
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        close = nearest(path.name, beside)
        hint = f' Did you mean {" or ".join(close)}?' if close else ''
        raise FileNotFoundError(f'no checkpoint at {path}.{hint}')
    if not path.is_dir():
        return path
    for name in (*WEIGHT_NAMES, MANIFEST):
        if (path / name).is_file():
            return path / name
    files = [file.name for file in visible_files(path, '*.safetensors', '*.pth')]
    remedy = f'Name one of its files: {", ".join(files[:8])}.' if files else 'Name the file of weights.'
    raise BadCheckpointFile(path, f'a directory without {" or ".join(WEIGHT_NAMES)}', remedy)


def identify(path: Path) -> str:
    """Return ``SAFETENSORS``, ``TORCH`` or ``INDEX``, the kind of the file ``path``.

    Raises:
        BadCheckpointFile: if it is anything else; the message says what it is and what to do.
    """
    if not path.is_file():
        kind = 'a directory' if path.is_dir() else 'a pipe, a socket or a device'
        raise BadCheckpointFile(path, kind, 'Name the file of weights.')
    size = path.stat().st_size
    with path.open('rb') as file:
        head = file.read(1024)
    content = describe_content(head)
    if head.startswith(b'PK'):
        _check_zip(path)
        return TORCH
    if head[:1] == b'\x80' and head[1:2] in PICKLE_PROTOCOLS and head[8:9] != b'{':
        return TORCH
    if head[8:9] == b'{' or (head and content == UNKNOWN and path.suffix == '.safetensors'):
        read_header(path, head, size)
        return SAFETENSORS
    if content == JSON_TEXT:
        _check_json(path)
        return INDEX
    raise BadCheckpointFile(path, content,
                            f'Checkpoints are safetensors files or what torch.save writes. {DOWNLOAD_AGAIN}')


def _check_zip(path: Path) -> None:
    """Raise unless the zip archive is one that torch.save wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise BadCheckpointFile(path, 'a truncated zip archive',
                                f'The directory at its end cannot be read ({error}). {DOWNLOAD_AGAIN}') from error
    inside = {name.split('/', 1)[-1] for name in names}
    if 'constants.pkl' in inside or any(name.startswith('code/') for name in inside):
        raise BadCheckpointFile(
            path, 'a TorchScript archive',
            'It holds a compiled program, which is not run. Take the weights (.safetensors or .pth) of the same model.')
    if 'models/model.json' in inside or 'serialized_exported_program.json' in inside:
        raise BadCheckpointFile(path, 'a torch.export archive',
                                'It holds an exported program. Take the weights of the same model.')
    if 'data.pkl' not in inside:
        raise BadCheckpointFile(path, 'a zip archive that torch.save did not write',
                                f'It holds {", ".join(names[:5])}.')


def read_header(path: Path, head: bytes, size: int) -> tuple[dict[str, dict], int]:
    """Header of a safetensors file and the offset of its data.

    Args:
        path: the file.
        head: its first bytes, at least 8.
        size: its size in bytes.

    Raises:
        BadCheckpointFile: if the header is cut off or damaged, or the data are shorter or longer than it says.
    """
    cut = BadCheckpointFile(path, 'a truncated safetensors file', f'Its header is cut off. {DOWNLOAD_AGAIN}')
    if len(head) < 8:
        raise cut
    length = int.from_bytes(head[:8], 'little')
    if length > 100_000_000:  # the limit of the safetensors format
        raise BadCheckpointFile(path, 'a damaged safetensors file', f'Its header would have {length:,} bytes.')
    if 8 + length > size:
        raise cut
    with path.open('rb') as file:
        file.seek(8)
        raw = file.read(length)
    try:
        header = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadCheckpointFile(path, 'a damaged safetensors file', f'Its header cannot be read ({error}).') from error
    entries = {name: entry for name, entry in header.items() if name != '__metadata__'} \
        if isinstance(header, dict) else {'header': header}
    for name, entry in entries.items():
        if not _is_entry(entry):
            raise BadCheckpointFile(path, 'a damaged safetensors file', f'Its header says of {name!r}: {entry!r:.80}.')
    end = max((entry['data_offsets'][1] for entry in entries.values()), default=0)
    data = 8 + length
    if data + end > size:
        raise BadCheckpointFile(path, 'a truncated safetensors file',
                                f'It has {size:,} of {data + end:,} bytes. {DOWNLOAD_AGAIN}')
    if data + end < size:
        raise BadCheckpointFile(path, 'a damaged safetensors file',
                                f'It has {size - data - end:,} bytes more than its header describes.')
    return header, data


def _is_entry(entry: object) -> bool:
    """Whether ``entry`` describes a tensor: its dtype, shape, and where its bytes begin and end."""
    if not isinstance(entry, dict) or not isinstance(entry.get('dtype'), str):
        return False
    shape, offsets = entry.get('shape'), entry.get('data_offsets')
    return (all(isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)
                for numbers in (shape, offsets)) and len(offsets) == 2 and offsets[0] <= offsets[1])


def _check_json(path: Path) -> None:
    """Raise unless a JSON document is the index of a checkpoint in several safetensors files."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadCheckpointFile(path, 'damaged JSON', f'{error}.') from error
    if not isinstance(content, dict) or 'weight_map' not in content:
        raise BadCheckpointFile(path, JSON_TEXT, 'Name the file of weights, not its description.')
    parts = content['weight_map']
    if not isinstance(parts, dict) or not parts or not all(isinstance(part, str) for part in parts.values()):
        raise BadCheckpointFile(path, 'a damaged safetensors index',
                                f"Its 'weight_map' must map names to names of files. {DOWNLOAD_AGAIN}")
