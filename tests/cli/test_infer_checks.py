"""What ``sapiens2 infer`` refuses before it loads a network, and what lists may name."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sapiens2.apis.outputs import OutputOptions, check_keypoints
from sapiens2.apis.video.inputs import split_videos
from sapiens2.cli.infer_report import Report
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


def test_results_of_another_picture_are_not_overwritten(photo, tmp_path, capsys) -> None:
    other = tmp_path / 'other' / photo.name
    write_image(other, np.full((30, 20, 3), 90, np.uint8))
    words = ('--model', 'tiny', '--no-pictures', '--dtype', 'fp32', '--out', str(tmp_path / 'out'))
    assert main(['infer', 'normal', str(photo), *words]) == 0
    first = next((tmp_path / 'out').rglob('*.npz')).read_bytes()
    capsys.readouterr()
    assert main(['infer', 'normal,albedo', str(other), *words]) == 1
    shown = ' '.join(capsys.readouterr().err.split())
    assert f'skipped normal: {other}' in shown and 'results of another picture' in shown and '--overwrite' in shown
    assert (tmp_path / 'out/normal/photo.npz').read_bytes() == first and (tmp_path / 'out/albedo/photo.npz').is_file()
    assert main(['infer', 'normal', str(other), *words, '--overwrite']) == 0
    assert (tmp_path / 'out/normal/photo.npz').read_bytes() != first


def test_a_run_with_nothing_to_do_tells_of_people_and_boxes_again(photo, tmp_path, capsys) -> None:
    boxes = tmp_path / 'boxes.json'
    boxes.write_text(json.dumps([{'image_id': 'photo', 'bbox': box, 'score': 0.9} for box in (
        [2, 2, 10, 10], [2, 2, 0, 5])]))
    for _ in range(2):
        assert main(['infer', 'pose', str(photo), '--boxes', str(boxes), '--model', 'tiny', '--no-pictures',
                     '--out', str(tmp_path / 'out')]) == 1
        shown = capsys.readouterr().err
        assert 'is empty' in shown and '1 problem,' in shown
        assert next(line for line in shown.splitlines() if line.startswith('│ pose')).split('│')[4].strip() == '1'
    assert 'finished before' in shown


@pytest.mark.parametrize('words, message', [
    (['--box-thr', 'nan'], '--box-thr: must be a number from 0 to 1'),
    (['--score-thr', '-3'], '--score-thr: must be a number from 0 to 1'),
    (['--out', ''], '--out: is an empty name'), (['--weights', ''], '--weights: is an empty name'),
    (['--boxes', ''], '--boxes: is an empty name'), (['--detector', ''], '--detector: is an empty name')])
def test_values_that_no_option_takes(photo, tmp_path, capsys, words, message) -> None:
    with pytest.raises(SystemExit) as stop:
        main(['infer', 'pose', str(photo), '--out', str(tmp_path / 'out'), *words])
    assert stop.value.code == 2 and message in capsys.readouterr().err


def test_files_that_are_not_there(photo, tmp_path, capsys) -> None:
    out = ('--model', 'tiny', '--out', tmp_path / 'out')
    assert 'nofilm.mp4: no such file' in refused(capsys, 'normal', tmp_path / 'nofilm.mp4', *out)
    assert '--boxes' in refused(capsys, 'pose', photo, '--boxes', tmp_path / 'none.json', *out)
    assert 'Is a directory' in refused(capsys, 'pose', photo, '--boxes', tmp_path, *out)
    assert 'no file of a camera' in refused(capsys, 'pointmap', photo, '--camera', photo, *out)
    assert 'no config.json' in refused(capsys, 'pose', photo, '--detector', tmp_path, *out)
    (tmp_path / 'other.json').write_text(json.dumps([{'image_id': 'x', 'bbox': [1, 1, 2, 2], 'score': 1}]))
    assert 'change these names' in refused(capsys, 'pose', photo, '--boxes', tmp_path / 'other.json', *out)


def test_a_film_among_pictures_is_named_and_the_seconds_add_up(tmp_path, capsys) -> None:
    report, seconds = Report(), []
    for part in range(2):
        result = dict(task='pose', error=None, frame=part, bboxes=[], message='none', skipped_boxes=[],
                      boxes_below_threshold=0)
        for _ in report.follow('pose', [result] * 2, 2):
            pass
        seconds.append(report.counts['pose'].seconds)
    assert report.counts['pose'].images == 4 and seconds[1] > seconds[0] > 0
    report.print_summary(tmp_path)
    assert "of a frame in its line of the film's .jsonl, says why): 4" in ' '.join(capsys.readouterr().err.split())


def test_exported_files_that_are_damaged_or_renamed(photo, tmp_path, capsys) -> None:
    (tmp_path / 'archive.pt').write_bytes(b'')
    with zipfile.ZipFile(tmp_path / 'archive.pt', 'w') as archive:
        archive.writestr('model/extra/sapiens2.json', json.dumps({'format': 'torchscript'}))
    (tmp_path / 'net.pth').write_bytes(b'\x08\x0a\x12\x07pytorch')
    for name, ending in (('archive.pt', '.torchscript'), ('net.pth', '.onnx')):
        assert f'rename it so that it ends in {ending}' in refused(
            capsys, 'seg', photo, '--weights', tmp_path / name, '--out', tmp_path / 'out')
    pytest.importorskip('onnxruntime')
    for name, content, words in (
            ('empty', b'', 'it is empty (0 bytes)'), ('picture', photo.read_bytes(), 'is no file of ONNX'),
            ('cut', b'\x08\x0a\x12\x07pytor', 'damaged or cut off')):
        (tmp_path / f'{name}.onnx').write_bytes(content)
        assert words in refused(capsys, 'seg', photo, '--weights', tmp_path / f'{name}.onnx', '--out', tmp_path / 'out')
