"""Writes safetensors files tensor by tensor; the safetensors library wants all of them in memory at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Optional

import torch

from sapiens2.models.checkpoints.stored import DTYPES, StoredTensor
from sapiens2.utils.atomic import atomic_path

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def write_safetensors(path: Path, state: Mapping[str, StoredTensor],
                      dtype_of: Callable[[str], Optional[torch.dtype]] = lambda name: None,
                      metadata: Optional[Mapping[str, str]] = None,
                      progress: Callable[[int], None] = lambda size: None) -> int:
    """Write ``state`` to ``path``, with one tensor in memory at a time; the file appears when it is complete.

    Args:
        path: file to write; its folder is created.
        state: tensors by name.
        dtype_of: dtype in which a tensor is written; None for the one it has.
        metadata: texts for the header.
        progress: called with the number of bytes after each tensor.

    Returns:
        Size of the data in bytes.
    """
    dtypes = {name: dtype_of(name) or stored.dtype for name, stored in state.items()}
    # Wide types first keeps every tensor aligned to its own width, as the safetensors library does.
    names = sorted(state, key=lambda name: (-dtypes[name].itemsize, name))
    header: dict[str, object] = {'__metadata__': {'format': 'pt', **(metadata or {})}}
    end = 0
    for name in names:
        begin, end = end, end + state[name].shape.numel() * dtypes[name].itemsize
        header[name] = {'dtype': DTYPE_NAMES[dtypes[name]], 'shape': list(state[name].shape),
                        'data_offsets': [begin, end]}
    raw = json.dumps(header).encode()
    raw += b' ' * (-len(raw) % 8)
    with atomic_path(path) as partial, partial.open('wb') as file:
        file.write(len(raw).to_bytes(8, 'little') + raw)
        for name in names:
            tensor = state[name].read(dtypes[name], torch.device('cpu')).contiguous()
            file.write(tensor.reshape(-1).view(torch.uint8).numpy())
            state[name].release()
            progress(tensor.nbytes)
    return end
