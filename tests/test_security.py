"""What untrusted files must not do: run code, write elsewhere, or carry the names of this machine away."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from sapiens2.datasets import CocoPoseDataset, DataError, PretrainShardsDataset
from sapiens2.datasets.array_files import read_array
from sapiens2.models.checkpoints import CheckpointError, load_state
from sapiens2.utils.image_io import ImageReadError, read_image, write_image

PACKAGE = Path(__file__).parents[1] / 'sapiens2'
# Calls that can run code, unpack files or start programs -> the files that may have them. A new one is looked at by a
# person, who adds it here with the reason.
ALLOWED = {
    'torch.load': {'models/checkpoints/pickles.py'},  # weights_only, see below
    # allow_pickle=False; and two readers of files that the package wrote itself, for which it is the default.
    'np.load': {'datasets/numpy_files.py', 'synth/people/surfaces.py', 'synth/people/template.py'},
    'yaml.safe_load': {'evaluation/benchmark/spec.py', 'planning/gpus.py', 'utils/model_index.py'},
    'torch.export.load': {'export/runtimes.py'},  # behind the option that says the file is trusted
    'torch.jit.load': {'export/runtimes.py'},
    'torch._inductor.aoti_load_package': {'export/runtimes.py'},
    'subprocess.Popen': {'quickstart/steps.py'},  # the package's own commands, no shell
    'importlib.import_module': {'cli/main.py', 'utils/environment.py'},  # names from tables here
    # What a process of a pool does, from the process that starts it; multiprocessing would pickle it all the same.
    'pickle.dumps': {'utils/parallel.py'},
    'pickle.loads': {'utils/parallel.py'},
}
DANGEROUS = ('eval', 'exec', 'compile', '__import__', 'torch.load', 'np.load', 'numpy.load', 'torch.jit.load',
             'torch.export.load', 'torch._inductor.aoti_load_package', 'os.system', 'os.popen', 'yaml.load',
             'yaml.safe_load', 'yaml.unsafe_load', 'yaml.full_load', 'importlib.import_module', 'mmengine.load',
             'shutil.unpack_archive', 'tempfile.mktemp', 'joblib.load', 'dill.load', 'dill.loads')
MODULES = ('pickle', 'subprocess', 'cloudpickle', 'marshal', 'shelve')
METHODS = ('extractall', 'extract', 'read_pickle')


def calls(path: Path) -> Iterator[str]:
    """Dangerous calls of a file, with the names that they have there."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in DANGEROUS or name.split('.')[0] in MODULES or name.rpartition('.')[2] in METHODS and '.' in name:
                yield name
            if any(word.arg == 'shell' for word in node.keywords):
                yield f'{name}(shell=)'
            if any(word.arg in ('allow_pickle', 'weights_only') and ast.unparse(word.value) !=
                   {'allow_pickle': 'False', 'weights_only': 'True'}[word.arg] for word in node.keywords):
                yield f'{name}(unpickles)'
        elif isinstance(node, ast.ImportFrom) and (node.module or '').split('.')[0] in (*MODULES, 'importlib'):
            for alias in node.names:
                if alias.name in ('load', 'loads', 'Unpickler', 'run', 'call', 'check_output', 'system',
                                  'import_module'):
                    yield f'from {node.module} import {alias.name}'


def test_calls_that_can_run_code_are_those_that_were_looked_at() -> None:
    found = {(name, path.relative_to(PACKAGE).as_posix()) for path in PACKAGE.rglob('*.py') for name in calls(path)}
    assert sorted(found - {(name, path) for name, paths in ALLOWED.items() for path in paths}) == []


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / 'x.py').write_text('torch.load(a, weights_only=False)\nsubprocess.run(a, shell=True)\neval(a)\n'
                                   'tar.extractall()\nfrom pickle import loads\npickle.load(a)\n', encoding='utf-8')
    assert list(calls(tmp_path / 'x.py')) and {
        'torch.load', 'torch.load(unpickles)', 'subprocess.run', 'subprocess.run(shell=)', 'eval', 'tar.extractall',
        'from pickle import loads', 'pickle.load'} == set(calls(tmp_path / 'x.py'))


class Touch:
    """A pickle of this makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.path,)


def _torch_zip(evil: Touch) -> bytes:
    buffer = io.BytesIO()
    torch.save({'a': evil}, buffer)
    return buffer.getvalue()


def _torch_old(evil: Touch) -> bytes:
    buffer = io.BytesIO()
    torch.save({'a': evil}, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def _array(evil: Touch) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([evil], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def _arrays(evil: Touch) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, depth=np.array([evil], dtype=object), allow_pickle=True)
    return buffer.getvalue()


KINDS: dict[str, Callable[[Touch], bytes]] = {
    'torch.save': _torch_zip, 'torch.save of old': _torch_old, 'npy': _array, 'npz': _arrays,
    **{f'pickle {protocol}': lambda evil, protocol=protocol: pickle.dumps(evil, protocol) for protocol in range(6)}}


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('ending', ['.pth', '.pt', '.bin', '.safetensors', '.npy', '.npz', '.jpg', '.exr'])
def test_pickles_run_no_code(tmp_path: Path, kind: str, ending: str) -> None:
    path, made = tmp_path / f'file{ending}', tmp_path / 'made'
    path.write_bytes(KINDS[kind](Touch(made)))
    with pytest.raises((CheckpointError, DataError, ImageReadError), match=f'file{ending}'):
        if ending in ('.npy', '.npz', '.exr'):
            read_array(str(path), 'depth')
        elif ending == '.jpg':
            read_image(path)
        else:
            load_state(path)
    assert not made.exists()


def test_the_pickles_are_dangerous(tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    made = tmp_path / 'made'
    torch.load(io.BytesIO(_torch_zip(Touch(made))), weights_only=False)
    assert made.exists()


@pytest.mark.parametrize('content', [
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', b'<!DOCTYPE html><script>alert(1)</script>',
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><svg>&a;</svg>',
    b'push graphic-context\nviewbox 0 0 1 1\nimage over 0,0 0,0 "|id"\n', b'%!PS-Adobe-3.0 EPSF-3.0\n(x) run\n'])
def test_documents_called_jpg_are_no_pictures(tmp_path: Path, content: bytes) -> None:
    (tmp_path / 'x.jpg').write_bytes(content)
    with pytest.raises(ImageReadError, match='x.jpg'):
        read_image(tmp_path / 'x.jpg')


@pytest.mark.parametrize('name', ['../outside.png', '/etc/passwd', 'a/../../outside.png', 'a\\..\\outside.png', '',
                                  'a\0.png'])
def test_annotations_do_not_lead_out_of_their_folder(tmp_path: Path, name: str) -> None:
    content = {'images': [dict(id=1, file_name=name, height=8, width=8)], 'annotations': [],
               'categories': [dict(id=1, name='person')]}
    (tmp_path / 'people.json').write_text(json.dumps(content), encoding='utf-8')
    with pytest.raises(DataError, match='file_name'):
        CocoPoseDataset(ann_file='people.json', data_root=str(tmp_path), data_prefix=dict(img_path='images'),
                        keypoint_set='coco')


@pytest.mark.parametrize('name', ['../../outside.png', '/outside.png', 'a/../../outside.png'])
def test_members_of_tar_files_stay_in_memory(tmp_path: Path, name: str) -> None:
    write_image(tmp_path / 'picture.png', np.zeros((8, 8, 3), np.uint8))
    content = (tmp_path / 'picture.png').read_bytes()
    (tmp_path / 'deep').mkdir()
    with tarfile.open(tmp_path / 'deep/x.tar', 'w') as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo('link.png')
        link.type, link.linkname = tarfile.SYMTYPE, '/etc/hostname'
        tar.addfile(link)
    before = sorted(tmp_path.rglob('*'))
    dataset = PretrainShardsDataset(str(tmp_path / 'deep'), index_dir=str(tmp_path / 'index'))
    assert dataset.count == 1 and dataset.read(0) == content  # links are no pictures
    assert [path for path in sorted(tmp_path.rglob('*')) if path not in before
            and not path.is_relative_to(tmp_path / 'index')] == []


@pytest.mark.parametrize('name', ['../outside', '/outside', '..\\outside', '..'])
def test_files_that_a_checkpoint_lists_lie_beside_it(tmp_path: Path, name: str) -> None:
    folder = tmp_path / 'checkpoint'
    folder.mkdir()
    (tmp_path / 'outside').write_bytes(b'x')
    (folder / 'model.safetensors.index.json').write_text(json.dumps({'weight_map': {'a': name}}), encoding='utf-8')
    with pytest.raises(CheckpointError, match='missing'):
        load_state(folder)
    (folder / 'model.safetensors.index.json').unlink()
    (folder / 'manifest.json').write_text(json.dumps({
        'format': 'sapiens2 sharded checkpoint', 'version': 1, 'files': {name: dict(bytes=1, crc32=0)}}),
        encoding='utf-8')
    with pytest.raises(CheckpointError, match='damaged manifest|missing'):
        load_state(folder)


def test_archives_of_weights_are_not_unpacked(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    torch.save({'cls_token': torch.ones(2)}, buffer)
    path = tmp_path / 'deep' / 'weights.pth'
    path.parent.mkdir()
    path.write_bytes(buffer.getvalue())
    with zipfile.ZipFile(path, 'a') as archive:
        archive.writestr('../../outside', 'x')
    with pytest.raises(CheckpointError, match='weights.pth'):
        load_state(path)
    assert sorted(tmp_path.rglob('*')) == [path.parent, path]


def test_the_config_inside_an_exported_file_runs_nothing(tmp_path: Path) -> None:
    from sapiens2.export.info import exported_config
    made = tmp_path / 'made'
    info = {'task': 'seg', 'config': {'model': {'type': 'subprocess.Popen', 'args': ['touch', str(made)]}}}
    with pytest.raises(ValueError, match=r'x\.onnx: its config\.model\.type.*could run code'):
        exported_config(info, 'seg', None, tmp_path / 'x.onnx')
    assert not made.exists()
