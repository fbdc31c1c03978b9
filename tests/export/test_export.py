"""Networks as files that other programs run, and those files in place of weights."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from safetensors.torch import save_file

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.cli.main import main
from sapiens2.export.export import export_network, report_path
from sapiens2.export.exported_network import load_exported
from sapiens2.export.writers import check_tools
from sapiens2.utils.image_io import write_image
from sapiens2.utils.task_models import task_config

SIZE = (64, 48)
MODEL = 'sapiens2_tiny'


@pytest.fixture(scope='module')
def weights(tmp_path_factory) -> dict[str, Path]:
    files = {}
    for task in ('seg', 'pose', 'normal'):
        torch.manual_seed(0)
        model = Sapiens2Inferencer(task, MODEL, 'random', 'cpu', 'fp32', SIZE).networks[task].model
        files[task] = tmp_path_factory.mktemp('weights') / f'{task}.safetensors'
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, files[task])
    return files


def photo(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (50, 70, 3), dtype=np.uint8)


def run_both(task: str, weights: Path, file: Path, **options) -> tuple[list, list]:
    images = [photo(seed) for seed in range(3)]
    return tuple(Sapiens2Inferencer(task, MODEL, name, 'cpu', 'fp32', size, trust_exported=True)(
        images, batch_size=2, **options) for name, size in ((weights, SIZE), (file, None)))


def test_onnx_runs_in_place_of_weights_at_any_batch(weights, tmp_path):
    pytest.importorskip('onnxscript')
    pytest.importorskip('onnxruntime')
    file = tmp_path / 'pose.onnx'
    report = export_network('pose', file, MODEL, weights['pose'], img_size=SIZE)
    assert report['passed'] and report['batches'] == [1, 2] and report['bytes'] == file.stat().st_size
    assert report['outputs'][0]['name'] == 'heatmaps' and report['outputs'][0]['shape'] == [308, 16, 12]
    stored = json.loads(report_path(file).read_text())
    assert stored['weights']['sha256'] == report['weights']['sha256'] and len(stored['weights']['sha256']) == 64
    assert str(tmp_path) not in file.read_bytes().decode('latin-1')
    ours, theirs = run_both('pose', weights['pose'], file, whole_image=True)
    for first, second in zip(ours, theirs):
        assert second['error'] is None and second['weights'] == 'pose.onnx'
        near = np.abs(first['keypoints'] - second['keypoints']).max(axis=-1) < 0.05
        assert near.mean() > 0.9, 'peaks of a random network may have twins'
        assert np.allclose(first['keypoint_scores'], second['keypoint_scores'], atol=1e-4)
    with pytest.raises(FileExistsError, match='--force'):
        export_network('pose', file, MODEL, weights['pose'], img_size=SIZE)
    with pytest.raises(ValueError, match='is a network for pose, not for seg'):
        Sapiens2Inferencer('seg', MODEL, file, 'cpu')
    with pytest.raises(ValueError, match='takes images of'):
        Sapiens2Inferencer('pose', MODEL, file, 'cpu', img_size=(128, 96))
    with pytest.raises(ValueError, match='holds the network sapiens2_tiny, not sapiens2_1b'):
        Sapiens2Inferencer('pose', '1b', file, 'cpu')
    assert Sapiens2Inferencer('pose', None, file, 'cpu').networks['pose'].model_name == MODEL
    renamed = tmp_path / 'pose.pt'
    renamed.write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match='rename it so that it ends in .onnx'):
        Sapiens2Inferencer('pose', MODEL, renamed, 'cpu')


def test_formats_that_can_run_code_are_opened_only_if_trusted(weights, tmp_path):
    file = tmp_path / 'seg.pt2'
    assert export_network('seg', file, MODEL, weights['seg'], img_size=SIZE)['passed']
    with pytest.raises(ValueError, match='can run any code.*--trust-exported'):
        Sapiens2Inferencer('seg', MODEL, file, 'cpu')
    ours, theirs = run_both('seg', weights['seg'], file)
    for first, second in zip(ours, theirs):
        assert (first['sem_seg'] == second['sem_seg']).mean() > 0.999


def test_torchscript_with_preprocessing_and_a_fixed_batch(weights, tmp_path):
    file = tmp_path / 'normal.ts'
    report = export_network('normal', file, MODEL, weights['normal'], img_size=SIZE, batch=2, with_preprocessing=True)
    assert report['passed'] and report['input']['dtype'] == 'uint8' and report['batch'] == 2
    ours, theirs = run_both('normal', weights['normal'], file)
    for first, second in zip(ours, theirs):
        assert np.abs(first['normal'] - second['normal']).mean() < 0.02


def test_files_of_others_are_refused(tmp_path):
    pytest.importorskip('onnxruntime')
    broken = tmp_path / 'broken.onnx'
    broken.write_bytes(b'not a network')
    with pytest.raises(ValueError, match='broken.onnx: is no file of ONNX, it is a text file.*onnxruntime says'):
        load_exported(broken)
    foreign = tmp_path / 'foreign.pt2'
    with zipfile.ZipFile(foreign, 'w') as archive:
        archive.writestr('foreign/data.pkl', b'\x80\x04.')
    with pytest.raises(ValueError, match='was not written by `sapiens2 export`'):
        load_exported(foreign, trust=True)
    with pytest.raises(FileNotFoundError, match='none.onnx'):
        load_exported(tmp_path / 'none.onnx')


@pytest.mark.parametrize('words, message', [
    (['seg', 'a.tflite'], 'names no format'), (['seg', 'a.onnx', '--dtype', 'bf16'], 'not in bf16'),
    (['seg', 'a.pt2', '--opset', '17'], 'opset is a version of ONNX'),
    (['seg', 'a.onnx', '--format', 'torchscript'], 'ends in .torchscript'),
    (['seg', 'a.onnx', '--weights', 'none.safetensors'], 'none.safetensors: no such file'),
])
def test_what_does_not_go_together_is_said(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(['export', *words, '--model', 'tiny', *([] if '--weights' in words else ['--weights', 'random'])]) == 2
    assert message in capsys.readouterr().err


def test_the_command_reports_and_compares_on_pictures(weights, tmp_path, capsys):
    for name in 'ab':
        write_image(tmp_path / 'pictures' / f'{name}.png', photo())
    words = ['export', 'seg', str(tmp_path / 'seg.torchscript'), '--model', 'tiny', '--weights', str(weights['seg']),
             '--img-size', '64', '48', '--batch', '1', '--pictures']
    assert main([*words, str(tmp_path / 'none')]) == 2
    assert 'none: no such file or folder' in capsys.readouterr().err
    words.append(str(tmp_path / 'pictures'))
    assert main(words) == 0
    shown = capsys.readouterr().out
    report = json.loads(report_path(tmp_path / 'seg.torchscript').read_text())
    assert report['checked_on'] == [str(tmp_path / 'pictures' / 'a.png')], 'as many as the batch'
    assert 'alike' in shown and 'logits' in shown and 'times as fast' in shown
    assert main([*words, '--force', '--tolerance', '1e-30']) in (0, 1)


@pytest.fixture
def small_normal() -> Config:
    cfg = task_config('normal', MODEL)
    cfg.model.backbone.arch = 'sapiens2_nano'
    cfg.model.decode_head.update(upsample_channels=(8,) * 4, conv_out_channels=(8, 8), conv_kernel_sizes=(1, 1))
    return cfg


@pytest.mark.slow
def test_aot_inductor_runs_in_place_of_weights(small_normal, tmp_path):
    try:
        check_tools('aoti')
    except RuntimeError as error:
        pytest.skip(str(error))
    file = tmp_path / 'normal.pt2'
    report = export_network('normal', file, small_normal, 'random', 'aoti', SIZE, batch=1)
    assert report['passed'] and report['format'] == 'aoti' and report['outputs'][0]['share'] < 1e-4
    with pytest.raises(ValueError, match='AOTInductor can run any code'):
        load_exported(file)
    result, = Sapiens2Inferencer('normal', None, file, 'cpu', trust_exported=True)(photo())
    assert result['error'] is None and result['normal'].shape == (50, 70, 3)
    assert np.allclose(np.linalg.norm(result['normal'], axis=2), 1, atol=1e-4)


def test_without_a_compiler_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(torch._inductor.config.cpp, 'cxx', ('no-such-compiler',))
    with pytest.raises(RuntimeError, match='needs a C\\+\\+ compiler. Install one'):
        export_network('normal', tmp_path / 'a.pt2', MODEL, 'none.safetensors', 'aoti')
    with monkeypatch.context() as patch:
        patch.setattr('importlib.util.find_spec', lambda name: None)
        with pytest.raises(ImportError, match='OpenVINO needs openvino: pip install'):
            export_network('normal', tmp_path / 'a.xml', MODEL, 'none.safetensors')
