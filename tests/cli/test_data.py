"""``sapiens2 data check`` and ``browse``: what is detected, exit codes, reports, pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_data import write_data

from sapiens2.apis.data_check import run
from sapiens2.cli.data_report import CheckReport
from sapiens2.cli.main import main
from sapiens2.datasets.errors import Fault, Kind
from sapiens2.utils.image_io import read_image, write_image

CONFIGS = Path(__file__).parents[2] / 'configs'


def check(*arguments: object) -> int:
    return main(['data', 'check', *map(str, arguments), '--workers', '0'])


def browse(*arguments: object) -> int:
    return main(['data', 'browse', *map(str, arguments)])


def config(task: str) -> Path:
    return CONFIGS / task / f'sapiens2-tiny_{task}_{"coco_wholebody" if task == "pose" else "folder"}-256x192.py'


@pytest.mark.parametrize('task', ['pose', 'seg', 'normal', 'pointmap', 'albedo'])
def test_tiny_sets_are_clean_as_folders_and_as_configs(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str) -> None:
    options = write_data(task, tmp_path / 'data', count=2)
    assert check(tmp_path / 'data') == 0
    said = capsys.readouterr().out
    assert 'No faults' in said and ('COCO annotations for pose, 2 images' if task == 'pose' else 'images with') in said
    assert check(config(task), '--cfg-options', *options) == 0
    said = capsys.readouterr().out
    assert 'val = test' in said and 'No faults' in said
    assert f'{4} samples read' in said  # val and test are one data set, read once


def test_exit_codes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('seg', tmp_path / 'data', count=3)
    labels = tmp_path / 'data/train/labels'
    for name in ('0', '2'):
        write_image(labels / f'{name}.png', np.full((80, 60), 40, np.uint8))
    write_image(labels / 'nobody.png', np.zeros((80, 60), np.uint8))
    assert check(tmp_path / 'data', '--json', tmp_path / 'out/faults.json', '--max-shown', 1) == 1
    said = capsys.readouterr().out
    assert 'label out of range' in said and '2 errors, 1 warnings' in said and '6 samples read' in said
    assert said.count('labels/0.png: sem_seg') == 1 and 'labels/2.png: sem_seg' not in said
    report = json.loads((tmp_path / 'out/faults.json').read_text())
    assert report['complete'] and report['samples'] == 6 and report['counts']['label out of range'] == 2
    fault = next(fault for fault in report['faults'] if fault['severity'] == 'error')
    assert fault['file'].endswith('labels/0.png') and fault['field'] == 'sem_seg' and 'label_map' in fault['remedy']
    assert check(tmp_path / 'data', '--split', 'val') == 0
    for name in ('0', '2'):
        (labels / f'{name}.png').unlink()
        (tmp_path / f'data/train/images/{name}.png').unlink()
    assert check(tmp_path / 'data') == 0
    assert check(tmp_path / 'data', '--strict') == 1


def test_limit_is_spread_over_the_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('seg', tmp_path / 'data', count=5)
    write_image(tmp_path / 'data/train/labels/4.png', np.full((80, 60), 40, np.uint8))
    assert check(tmp_path / 'data', '--split', 'train', '--limit', 2) == 1
    assert '2 samples read' in capsys.readouterr().out


@pytest.mark.slow
def test_workers_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('normal', tmp_path / 'data', count=6)
    np.save(tmp_path / 'data/train/normals/3.npy', np.full((80, 60, 3), 0.9))
    texts = []
    for workers in '02':
        assert main(['data', 'check', str(tmp_path / 'data'), '--workers', workers]) == 1
        texts.append([line for line in capsys.readouterr().out.splitlines() if line.startswith('error')])
    assert texts[0] == texts[1] and len(texts[0]) == 1


def test_interruption_shows_what_was_found(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_data('seg', tmp_path / 'data', count=3)
    write_image(tmp_path / 'data/train/labels/0.png', np.full((80, 60), 40, np.uint8))
    read = run.sample_faults

    def stop_at_the_second(steps: list, info: dict) -> list:
        if info['img_path'].endswith('1.png'):
            raise KeyboardInterrupt
        return read(steps, info)

    monkeypatch.setattr(run, 'sample_faults', stop_at_the_second)
    monkeypatch.setattr(run, '_BATCH', 1)
    assert check(tmp_path / 'data', '--json', tmp_path / 'faults.json') == 130
    said = capsys.readouterr().out
    assert 'interrupted' in said and '1 of 6 samples' in said and '1 errors' in said
    assert json.loads((tmp_path / 'faults.json').read_text())['complete'] is False


@pytest.mark.parametrize('arguments, words', [
    (['nowhere'], 'does not exist'),
    (['data', '--task', 'pose'], 'COCO JSON'),
    (['data/train', '--split', 'val'], 'no split'),
    (['data', '--task', 'portrait'], ''),
    (['data/val/labels/0.png'], 'no config'),
    (['empty'], 'no layout'),
    (['data', '--cfg-options', 'pipeline.9.x=1'], 'do not fit'),
])
def test_what_cannot_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                arguments: list[str], words: str) -> None:
    monkeypatch.chdir(tmp_path)
    write_data('seg', tmp_path / 'data', count=1)
    (tmp_path / 'empty').mkdir()
    if words:
        assert check(*arguments) == 2
        assert words in capsys.readouterr().err
    else:
        with pytest.raises(SystemExit, match='2'):
            check(*arguments)


def test_a_config_whose_pipeline_lacks_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('pointmap', tmp_path / 'data', count=1)
    options = [f'data_root={tmp_path / "data"}', 'train_dataloader.dataset.data_prefix={"img_path":"train/images",'
               '"depth":"train/depths","_delete_":True}']
    assert check(config('pointmap'), '--split', 'train', '--cfg-options', *options) == 1
    assert 'K' in capsys.readouterr().out


def test_images_of_a_json_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('pose', tmp_path / 'data', count=2)
    (tmp_path / 'json').mkdir()
    (tmp_path / 'data/people.json').rename(tmp_path / 'json/people.json')
    assert check(tmp_path / 'json/people.json') == 0  # a sibling folder is found
    (tmp_path / 'data').rename(tmp_path / 'json/deep')
    assert check(tmp_path / 'json/people.json') == 2
    assert '--images' in capsys.readouterr().err
    assert check(tmp_path / 'json/people.json', '--images', tmp_path / 'json/deep') == 0


@pytest.mark.parametrize('task', ['pose', 'seg', 'normal', 'pointmap', 'albedo'])
def test_browse_draws_the_same_for_the_same_seed(tmp_path: Path, task: str) -> None:
    options = write_data(task, tmp_path / 'data', count=3)
    common = [config(task), '--num', 2, '--cfg-options', *options]
    for out, more in (('a', []), ('b', []), ('c', ['--no-augment', '--seed', 1])):
        assert browse(*common, '--out', tmp_path / out, *more) == 0
    assert len(list((tmp_path / 'a').glob('000*.jpg'))) == 2
    for picture in sorted((tmp_path / 'a').iterdir()):
        assert picture.read_bytes() == (tmp_path / 'b' / picture.name).read_bytes()
    page = read_image(tmp_path / 'a/page_001.jpg')
    assert page.shape[1] > 400 and page.std() > 10
    assert (tmp_path / 'c/page_001.jpg').read_bytes() != (tmp_path / 'a/page_001.jpg').read_bytes()


@pytest.mark.parametrize('task, split', [('pose', 'train'), ('pointmap', 'val')])
def test_browse_folders_and_validation(tmp_path: Path, task: str, split: str) -> None:
    options = write_data(task, tmp_path / 'data', count=1)
    assert browse(tmp_path / 'data', '--out', tmp_path / 'folder', *([] if task == 'pose' else ['--split', split])) == 0
    assert browse(config(task), '--split', 'val', '--out', tmp_path / 'config', '--cfg-options', *options) == 0
    for name in ('folder', 'config'):
        assert (tmp_path / name / 'page_001.jpg').exists()


def test_browse_names_what_it_cannot_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_data('seg', tmp_path / 'data', count=2)
    (tmp_path / 'data/train/images/0.png').write_bytes(b'')
    assert browse(tmp_path / 'data', '--out', tmp_path / 'out') == 1
    assert 'not drawn' in capsys.readouterr().err and (tmp_path / 'out/page_001.jpg').exists()


def test_a_fault_that_is_met_again_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    report = CheckReport(max_shown=5, strict=False, keep=True)
    for fault in (Fault(Kind.SIZE, 'a', 'x'), Fault(Kind.SIZE, 'b', 'x'), Fault(Kind.SIZE, 'a', 'x'),
                  Fault(Kind.SHAPE, 'a', 'x'), Fault(Kind.NO_IMAGE, 'c', 'x')):
        report.add(fault)
    assert list(report.follow(range(3), 3)) == [0, 1, 2] and report.errors == 3
    report.print_summary(workers=1, of_parts=[1, 2])
    said = capsys.readouterr().out
    assert '3 samples read' in said and 'each data set: 1 + 2;' in said
    assert '3 errors, 1 warnings' in said and 'reading' not in said  # no bar where lines cannot be taken back
