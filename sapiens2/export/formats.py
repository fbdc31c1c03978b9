"""The formats of exported networks. Without torch, so that help is there at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

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


def is_exported(weights: Any) -> bool:
    """Whether ``weights`` are the path of an exported network, as its ending says, rather than of a checkpoint."""
    return isinstance(weights, (str, os.PathLike)) and Path(weights).suffix.lower() in ENDINGS
