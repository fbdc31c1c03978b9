"""Each kind of file that is no checkpoint is refused by its name."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.logging import HistoryBuffer
from safetensors.torch import save_file
from torch import nn

from sapiens2.models.checkpoints import BadCheckpointFile, CheckpointError, load_pickle, load_state
from sapiens2.models.checkpoints.identify import DOWNLOAD_AGAIN

STATE = {'blocks.0.attn.wq.weight': torch.arange(600.0).view(20, 30), 'cls_token': torch.ones(1, 1, 30)}


class Calls:
    """A pickle of this calls ``function`` when it is loaded."""

    def __init__(self, function: Callable, *args: object) -> None:
        self.call = function, args

    def __reduce__(self) -> tuple:
        return self.call


def zip_with(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, 'w') as archive:
        for name in names:
            archive.writestr(f'archive/{name}', '{}')


def refused(path: Path) -> BadCheckpointFile:
    with pytest.raises(BadCheckpointFile) as error:
        load_state(path)
    assert str(path) in str(error.value)
    return error.value


@pytest.mark.parametrize('suffix', ['.safetensors', '.pth'])
@pytest.mark.parametrize(('content', 'kind'), [
    (b'', 'empty'),
    (b'version https://git-lfs.github.com/spec/v1\noid sha256:4b73\nsize 5883353380\n', 'a Git-LFS pointer'),
    (b'\n<!DOCTYPE html><html><body>Log in</body></html>', 'an HTML page'),
    (b'{"model_type": "sapiens2"}', 'a JSON text'),
    (b'{"model_type": ', 'damaged JSON'),
    (b'%PDF-1.7 ...', 'a PDF document'),
    (bytes(4096), 'filled with zero bytes'),
    (b'Not Found', 'a text file'),
])
def test_files_that_downloads_leave_behind(tmp_path: Path, content: bytes, kind: str, suffix: str) -> None:
    path = tmp_path / f'weights.v1{suffix}'
    path.write_bytes(content)
    assert kind in refused(path).kind


@pytest.mark.parametrize('keep', [3, 8, 40, -1])
def test_truncated_safetensors(tmp_path: Path, keep: int) -> None:
    path = tmp_path / 'weights.safetensors'
    save_file(STATE, path)
    path.write_bytes(path.read_bytes()[:keep])
    error = refused(path)
    assert error.kind == 'a truncated safetensors file'
    assert DOWNLOAD_AGAIN in str(error)


def test_safetensors_with_bytes_too_many(tmp_path: Path) -> None:
    path = tmp_path / 'weights.safetensors'
    save_file(STATE, path)
    path.write_bytes(path.read_bytes() + b'12345')
    error = refused(path)
    assert error.kind == 'a damaged safetensors file'
    assert '5 bytes more' in str(error)


@pytest.mark.parametrize('header', [
    b'{"a": ', b'[1]', b'{"a": {"dtype": "F32"}}', b'{"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}'])
def test_safetensors_with_a_damaged_header(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / 'weights.safetensors'
    path.write_bytes(len(header).to_bytes(8, 'little') + header + bytes(8))
    assert refused(path).kind == 'a damaged safetensors file'


def test_safetensors_of_an_unknown_dtype(tmp_path: Path) -> None:
    header = b'{"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 8]}}'
    path = tmp_path / 'weights.safetensors'
    path.write_bytes(len(header).to_bytes(8, 'little') + header + bytes(8))
    assert 'dtype F4 in a' in refused(path).kind


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
def test_torchscript_archive(tmp_path: Path) -> None:
    path = tmp_path / 'weights.pt2'
    torch.jit.save(torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)), path)
    assert refused(path).kind == 'a TorchScript archive'


@pytest.mark.parametrize(('names', 'kind'), [
    (('data.pkl', 'code/__torch__.py'), 'a TorchScript archive'),
    (('models/model.json', 'archive_format'), 'a torch.export archive'),
    (('readme.txt',), 'a zip archive that torch.save did not write'),
])
def test_zip_archives(tmp_path: Path, names: tuple[str, ...], kind: str) -> None:
    path = tmp_path / 'weights.pth'
    zip_with(path, *names)
    assert refused(path).kind == kind


@pytest.mark.parametrize('keep', [30, -30])
def test_truncated_zip(tmp_path: Path, keep: int) -> None:
    path = tmp_path / 'weights.pth'
    torch.save(STATE, path)
    path.write_bytes(path.read_bytes()[:keep])
    assert refused(path).kind == 'a truncated zip archive'


@pytest.mark.parametrize('keep', [20, 100, 200, -100])
def test_truncated_legacy_archive(tmp_path: Path, keep: int) -> None:
    path = tmp_path / 'weights.pth'
    torch.save(STATE, path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:keep])
    assert refused(path).kind == 'a truncated or damaged pickle'


def test_legacy_archive_loads(tmp_path: Path) -> None:
    path = tmp_path / 'weights.pth'
    torch.save(STATE, path, _use_new_zipfile_serialization=False)
    state, _ = load_state(path)
    assert all(torch.equal(tensor, state[name]) for name, tensor in STATE.items())


@pytest.mark.parametrize('write', ['zip', 'legacy', 'pickle 2', 'pickle 4'])
def test_pickles_that_want_to_run_code(tmp_path: Path, write: str) -> None:
    path, trace = tmp_path / 'weights.pth', tmp_path / 'it ran'
    content = {'state_dict': STATE, 'extra': Calls(os.mkdir, str(trace))}
    if write.startswith('pickle'):
        path.write_bytes(pickle.dumps({'extra': content['extra']}, protocol=int(write[-1])))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=write == 'zip')
    error = refused(path)
    assert error.kind == f'a pickle that asks for {os.mkdir.__module__}.mkdir'
    assert not trace.exists()


@pytest.mark.parametrize('attribute', ['__init__', '__reduce__'])
def test_attributes_other_than_statistics_are_refused(tmp_path: Path, attribute: str) -> None:
    path = tmp_path / 'weights.pth'
    torch.save({'extra': Calls(getattr, HistoryBuffer, attribute)}, path)
    assert refused(path).kind == f"a pickle that asks for getattr(HistoryBuffer, '{attribute}')"


def test_allowed_objects_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HistoryBuffer, '_statistics_methods', {})  # as in a process that has made none yet
    path = tmp_path / 'log.pth'
    buffer = HistoryBuffer([3.0, 5.0], [1, 1])
    torch.save({'loss': buffer}, path)
    assert load_pickle(path)['loss'].mean() == buffer.mean()


def test_archive_without_tensors(tmp_path: Path) -> None:
    path = tmp_path / 'weights.pth'
    torch.save({'epoch': 3}, path)
    assert refused(path).kind == 'an archive without tensors'


def test_directory_without_weights(tmp_path: Path) -> None:
    (tmp_path / 'epoch_3.pth').touch()
    error = refused(tmp_path)
    assert error.kind.startswith('a directory without model.safetensors')
    assert 'epoch_3.pth' in str(error)


def test_missing_file_offers_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / 'sapiens2_1b_pose.safetensors').touch()
    with pytest.raises(FileNotFoundError, match='Did you mean sapiens2_1b_pose.safetensors'):
        load_state(tmp_path / 'sapiens2_1b_pos.safetensors')


@pytest.mark.parametrize(('shard', 'kind'), [
    ('model-2.safetensors', "whose part 'model-2.safetensors' is missing"),
    ('../model-1.safetensors', "whose part '../model-1.safetensors' is missing"),
    ('model-1.safetensors', "lists 'b', which no part holds"),
])
def test_index_with_a_missing_part(tmp_path: Path, shard: str, kind: str) -> None:
    folder = tmp_path / 'model'
    folder.mkdir()
    for place in (tmp_path, folder):
        save_file({'a': torch.ones(2)}, place / 'model-1.safetensors')
    (folder / 'model.safetensors.index.json').write_text(json.dumps(
        {'weight_map': {'a': 'model-1.safetensors', 'b': shard}}))
    assert kind in refused(folder / 'model.safetensors.index.json').kind


def test_damaged_inside_of_an_archive(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    torch.save(STATE, buffer)
    path = tmp_path / 'weights.pth'
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(path, 'w') as target:
        for name in source.namelist():
            target.writestr(name, source.read(name)[:50] if name.endswith('data.pkl') else source.read(name))
    assert refused(path).kind == 'a truncated or damaged pickle'


ENTRY = {'dtype': 'F32', 'shape': [1], 'data_offsets': [0, 4]}


@pytest.mark.parametrize('header', [
    [ENTRY], {'a': 3}, {'a': None}, *({'a': {**ENTRY, **changes}} for changes in (
        {'dtype': None}, {'dtype': ['F32']}, {'shape': None}, {'shape': ['1']}, {'shape': [-1]}, {'shape': [1.0]},
        {'data_offsets': [4]}, {'data_offsets': [4, 0]}, {'data_offsets': ['0', '4']}, {'data_offsets': [-4, 4]},
        {'shape': [10**12, 10**12]}))])
def test_safetensors_headers_of_another_form(tmp_path: Path, header: object) -> None:
    raw = json.dumps(header).encode()
    path = tmp_path / 'a.safetensors'
    path.write_bytes(len(raw).to_bytes(8, 'little') + raw + bytes(4))
    # A list as header does not start like one.
    assert refused(path).kind in ('a damaged safetensors file', 'of an unknown kind')


@pytest.mark.parametrize('parts', [[], {}, 'a', {'a': 3}, {'a': ['b.safetensors']}])
def test_indices_of_another_form(tmp_path: Path, parts: object) -> None:
    path = tmp_path / 'model.safetensors.index.json'
    path.write_text(json.dumps({'weight_map': parts}))
    assert refused(path).kind == 'a damaged safetensors index'


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('zipped', [True, False])
def test_damage_anywhere_is_read_or_refused(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / 'a.pth'
    torch.save({'state_dict': STATE}, path, _use_new_zipfile_serialization=zipped)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for number in range(200):
        damaged = bytearray(content)
        for place in rng.integers(0, (64, 600, len(content))[number % 3], 2):
            damaged[place if number % 2 else -place - 1] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            load_state(path)
        except CheckpointError:
            pass


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, 'mkfifo'):
        pytest.skip('no named pipes here')
    os.mkfifo(tmp_path / 'a.pth')
    assert 'a pipe' in refused(tmp_path / 'a.pth').kind


def test_load_pickle_says_what_other_files_are(tmp_path: Path) -> None:
    path = tmp_path / 'a.pth'
    path.write_bytes(b'version https://git-lfs.github.com/spec/v1\n')
    with pytest.raises(BadCheckpointFile, match='a Git-LFS pointer'):
        load_pickle(path)
    with pytest.raises(BadCheckpointFile, match='a directory'):
        load_pickle(tmp_path)
