"""The formats of exported networks. Without torch, so that help is there at once."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from sapiens2.utils.file_kind import UNKNOWN, describe_content
from sapiens2.utils.suggest import UnknownNameError, unknown_name

EXTRA = 'pip install "sapiens2[export]"'


@dataclass(frozen=True)
class ExportFormat:
    """One format.

    Attributes:
        title: for people.
        endings: of its files, the usual one first.
        dtypes: that its networks can compute in.
        runs_code: whether reading a file can run code that somebody put into it.
        packages: that write and run it, besides torch.
    """

    title: str
    endings: tuple[str, ...]
    dtypes: tuple[str, ...]
    runs_code: bool
    packages: tuple[str, ...] = ()


FORMATS: Mapping[str, ExportFormat] = {
    'onnx': ExportFormat('ONNX', ('.onnx',), ('fp32', 'fp16'), False, ('onnx', 'onnxscript', 'onnxruntime')),
    'openvino': ExportFormat('OpenVINO', ('.xml',), ('fp32', 'fp16'), False, ('openvino',)),
    'torch-export': ExportFormat('torch.export', ('.pt2',), ('fp32', 'bf16', 'fp16'), True),
    'aoti': ExportFormat('AOTInductor', ('.pt2',), ('fp32', 'bf16', 'fp16'), True),
    'torchscript': ExportFormat('TorchScript', ('.torchscript', '.ts'), ('fp32', 'bf16', 'fp16'), True),
}
ENDINGS = tuple(dict.fromkeys(ending for kind in FORMATS.values() for ending in kind.endings))


def format_for(path: str | os.PathLike, name: Optional[str] = None) -> str:
    """The format called ``name``, or without one that of the ending of ``path``; '.pt2' is then torch-export.

    Raises:
        ValueError: if there is none, or the ending is not that of the format.
    """
    ending = Path(path).suffix.lower()
    if name is not None:
        if name not in FORMATS:
            raise UnknownNameError(unknown_name(name, FORMATS, 'format'))
        if ending not in FORMATS[name].endings:
            raise ValueError(f'{path}: a file of {FORMATS[name].title} ends in {" or ".join(FORMATS[name].endings)}')
        return name
    for known, kind in FORMATS.items():
        if ending in kind.endings:
            return known
    raise ValueError(f'{path}: the ending names no format. It may be {", ".join(ENDINGS)}')


def has_onnx_start(head: bytes) -> bool:
    """Whether a file may be ONNX by its first bytes: a protobuf whose first entry is the version of its format."""
    return len(head) > 2 and head[0] == 8 and 0 < head[1] < 64 and head[2] in (0x12, 0x1a, 0x22, 0x2a, 0x3a, 0x42)


def unusable(path: Path, title: str, begins_right: bool) -> str:
    """What is wrong with a file that cannot be opened as one of ``title``, and what to do.

    Args:
        begins_right: whether its first bytes are those of such a file.
    """
    kind = describe_content(head_of(path))
    if begins_right:
        fault = 'is damaged or cut off'
    elif kind == UNKNOWN:
        fault = f'is no file of {title}'
    else:
        fault = f'is no file of {title}, it is {kind}'
    return f'{path}: {fault}. Copy or export it again'


def head_of(path: Path) -> bytes:
    """The first bytes of a file."""
    with path.open('rb') as stream:
        return stream.read(1024)


def check_not_renamed(path: Path) -> None:
    """
    Raises:
        ValueError: if a file that is to be a checkpoint is an exported network under another ending.
    """
    if not path.is_file() or is_exported(path):
        return
    head, kind = head_of(path), None
    if has_onnx_start(head):
        kind = FORMATS['onnx']
    elif head.startswith(b'<?xml') and b'<net ' in head:
        kind = FORMATS['openvino']
    elif head.startswith(b'PK'):
        kind = FORMATS.get(_format_of_archive(path))
    if kind is not None:
        raise ValueError(f'{path}: is an exported network, {kind.title}: rename it so that it ends in '
                         f'{kind.endings[0]}')


def _format_of_archive(path: Path) -> Optional[str]:
    """The format that one of torch's archives names in what this project has written into it."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.endswith('/extra/sapiens2.json')), None)
            return json.loads(archive.read(name)).get('format') if name else None
    except (OSError, ValueError, zipfile.BadZipFile):
        return None  # whoever opens it as a checkpoint says so


def is_exported(weights: Any) -> bool:
    """Whether ``weights`` are the path of an exported network, as its ending says, rather than of a checkpoint."""
    return isinstance(weights, (str, os.PathLike)) and Path(weights).suffix.lower() in ENDINGS
