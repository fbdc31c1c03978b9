"""Whatever a file of weights holds, opening it gives tensors or a ``CheckpointError``, and runs no code."""

from __future__ import annotations

import io
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fuzz.budget import fuzz, outcome
from fuzz.mutation import as_json, mutated, mutated_tree
from hypothesis import given
from safetensors.torch import save

from sapiens2.models.checkpoints import CheckpointError, load_state

STATE = {'blocks.0.attn.wq.weight': torch.arange(24.0).view(4, 6), 'cls_token': torch.ones(1, 1, 6)}


def _saved(content: Any, **kwargs: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, **kwargs)
    return buffer.getvalue()


SAFETENSORS = save(STATE, {'sapiens2.img_size': '[64, 48]'})
LENGTH = struct.unpack('<Q', SAFETENSORS[:8])[0]
HEADER, DATA = json.loads(SAFETENSORS[8:8 + LENGTH]), SAFETENSORS[8 + LENGTH:]
MMENGINE = dict(state_dict=STATE, meta=dict(iter=3, cfg='model = dict()'), message_hub=dict(log=np.float64(1)))
ARCHIVES = {'state': _saved(STATE), 'nested': _saved(MMENGINE), 'pickle': pickle.dumps(dict(a=[1, 2]), 2),
            'old': _saved(STATE, _use_new_zipfile_serialization=False)}
INDEX = {'metadata': dict(total_size=1), 'weight_map': {name: 'part.safetensors' for name in STATE}}


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('weights')
    (folder / 'part.safetensors').write_bytes(SAFETENSORS)
    return folder


def open_file(path: Path) -> None:
    outcome(lambda: [tensor.clone() for tensor in load_state(path)[0].values()], CheckpointError)


@fuzz(300)
@given(content=mutated({'safetensors': SAFETENSORS}))
def test_damaged_safetensors(folder: Path, content: bytes) -> None:
    (folder / 'x.safetensors').write_bytes(content)
    open_file(folder / 'x.safetensors')


@fuzz(300)
@given(tree=mutated_tree(HEADER))
def test_headers_of_safetensors(folder: Path, tree: Any) -> None:
    header = as_json(tree)
    (folder / 'h.safetensors').write_bytes(struct.pack('<Q', len(header)) + header + DATA)
    open_file(folder / 'h.safetensors')


@fuzz(300)
@given(content=mutated(ARCHIVES))
def test_damaged_archives(folder: Path, content: bytes) -> None:
    (folder / 'x.pth').write_bytes(content)
    open_file(folder / 'x.pth')


@fuzz(100)
@given(tree=mutated_tree(INDEX))
def test_indices(folder: Path, tree: Any) -> None:
    (folder / 'model.safetensors.index.json').write_bytes(as_json(tree))
    open_file(folder / 'model.safetensors.index.json')
