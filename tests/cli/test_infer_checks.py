"""What ``sapiens2 infer`` refuses before it loads a network, and what lists may name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sapiens2.apis.outputs import OutputOptions, check_keypoints
from sapiens2.apis.video.inputs import split_videos
from sapiens2.cli.main import main
from sapiens2.export.export import export_network
from sapiens2.utils.image_io import write_image


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / 'photo.png'
    write_image(path, np.random.default_rng(0).integers(0, 256, (60, 50, 3), dtype=np.uint8))
    return path


def refused(capsys: pytest.CaptureFixture, *words: object) -> str:
    """What is said of a command that fails."""
    assert main(['infer', *map(str, words)]) != 0
    return ' '.join(capsys.readouterr().err.split())


@pytest.mark.parametrize('words, said', [
    (('seg', '--keypoints', 'coco17'), '--keypoints is for pose, not for seg'),
    (('seg', '--also', 'ply'), 'ply is a format of pointmap, not of seg')])
def test_options_of_another_task(photo, tmp_path, capsys, words, said) -> None:
    task, *options = words
    assert said in refused(capsys, task, photo, '--model', 'tiny', '--out', tmp_path / 'out', *options)
    assert not list((tmp_path / 'out').rglob('*.npz'))


def test_a_format_whose_package_is_missing(photo, tmp_path, capsys, monkeypatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, 'find_spec',
                        lambda name, *more: None if name == 'OpenEXR' else find(name, *more))
    monkeypatch.setattr('sapiens2.apis.Sapiens2Inferencer.__init__', lambda *_, **__: pytest.fail('was built'))
    assert 'pip install "sapiens2[exr]"' in refused(capsys, 'normal', photo, '--model', 'tiny', '--also', 'exr',
                                                    '--out', tmp_path / 'out')


def test_points_that_are_not_the_308() -> None:
    meta = {'keypoint_names': ['a', 'b']}
    with pytest.raises(ValueError, match='coco17 is made of the sapiens308 points, and this network gives 2 others'):
        check_keypoints(meta, OutputOptions(keypoints=('coco17',)))
    check_keypoints(meta, OutputOptions())


def test_a_list_may_name_videos(tmp_path) -> None:
    (tmp_path / 'film.mp4').write_bytes(b'')
    (tmp_path / 'photo.jpg').write_bytes(b'')
    (tmp_path / 'list.txt').write_text('film.mp4\n# a comment\nphoto.jpg\n')
    videos, others = split_videos([str(tmp_path / 'list.txt')])
    assert [video.stem for video in videos] == ['film'] and others == [str(tmp_path / 'photo.jpg')]


def test_an_exported_file_of_trained_weights(photo, tmp_path, capsys) -> None:
    pytest.importorskip('onnxscript')
    pytest.importorskip('onnxruntime')
    file = tmp_path / 'seg.onnx'
    assert export_network('seg', file, 'tiny')['passed']
    assert 'no effect on it' in refused(capsys, 'seg', photo, '--weights', file, '--dtype', 'bf16',
                                        '--out', tmp_path / 'out')
    for name, words in (('network', ('--model', 'tiny', '--dtype', 'fp32')), ('exported', ('--weights', str(file)))):
        assert main(['infer', 'seg', str(photo), '--out', str(tmp_path / name), '--no-pictures', *words]) == 0
    labels = [np.load(next((tmp_path / name).rglob('photo.npz')))['sem_seg'] for name in ('network', 'exported')]
    assert len(np.unique(labels[0])) > 1 and (labels[0] == labels[1]).mean() > 0.999
