"""Generating folders when things go wrong: stops, kills, full disks, two at once, odd sizes, missing packages."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import pytest
from rich.console import Console

from sapiens2.cli.main import main
from sapiens2.datasets.errors import DataError

pytest.importorskip('anny')
pytest.importorskip('embreex')
from sapiens2.synth.folder import SynthFolder  # noqa: E402
from sapiens2.synth.make_set import SetOptions, make_set  # noqa: E402
from sapiens2.synth.statistics import markdown_of, statistics_of  # noqa: E402
from sapiens2.utils import ray_engine  # noqa: E402

OPTIONS = SetOptions(seed=10**30, size=(64, 48), val_every=3)


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp('synth') / 'set'
    make_set(root, 6, OPTIONS)
    return root


@pytest.mark.parametrize('how', [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(made, tmp_path, how, hashes):
    root = tmp_path / 'set'
    command = [sys.executable, '-m', 'sapiens2.cli', 'synth', '--num', '6', '--out', str(root), '--seed', str(10**30),
               '--size', '64', '48', '--val-every', '3', '--workers', '2']
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2],
                               start_new_session=True)
    listed = root / 'samples.jsonl'
    try:
        while not (listed.exists() and listed.read_bytes().count(b'\n')):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(how)
        process.communicate(timeout=60)
        assert process.returncode == (130 if how == signal.SIGINT else -how)
        # The processes that worked for it have left, too.
        for _ in range(200):
            if not _group_is_alive(process.pid):
                break
            time.sleep(0.05)
        assert not _group_is_alive(process.pid)
    finally:
        if _group_is_alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
    make_set(root, 6, OPTIONS)
    assert hashes(root) == hashes(made)


def _group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_at_once_in_one_folder_are_refused(tmp_path):
    with SynthFolder(tmp_path, 3).locked(), pytest.raises(DataError, match='another process is generating'):
        make_set(tmp_path, 1, OPTIONS)
    make_set(tmp_path, 1, OPTIONS)


def test_fewer_than_there_are_keeps_all(made, hashes):
    before = hashes(made)
    text = io.StringIO()
    make_set(made, 2, OPTIONS, console=Console(file=text, width=200))
    assert '6 samples in' in text.getvalue() and '0 of them new' in text.getvalue()
    assert hashes(made) == before


@pytest.mark.parametrize('size', [(1, 1), (1, 300), (15, 20), (16, 65)])
def test_sizes_that_are_too_small_or_long_name_the_smallest(tmp_path, size, capsys):
    code = main(['synth', '--num', '2', '--out', str(tmp_path / 'set'), '--size', *map(str, size)])
    assert code == 2 and 'the smallest picture is 16 x 16' in capsys.readouterr().err
    assert not (tmp_path / 'set').exists()


@pytest.mark.parametrize('size', [(16, 16), (16, 64), (17, 61), (90, 33)])
def test_any_size(tmp_path, size):
    make_set(tmp_path, 1, SetOptions(size=size, val_every=0))
    assert cv2.imread(str(tmp_path / 'train/images/000000.jpg')).shape == (*size, 3)
    assert cv2.imread(str(tmp_path / 'train/normals/000000.png'), cv2.IMREAD_UNCHANGED).shape == (*size, 3)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(OSError, match=r'No space left.*samples\.jsonl'):
        make_set(tmp_path, 1, OPTIONS)


def test_backgrounds_are_part_of_the_options(tmp_path, made):
    (tmp_path / 'pictures').mkdir()
    cv2.imwrite(str(tmp_path / 'pictures/a.png'), cv2.imread(str(made / 'train/images/000000.jpg')))
    options = SetOptions(size=(24, 24), backgrounds=tmp_path / 'pictures')
    make_set(tmp_path / 'set', 1, options)
    cv2.imwrite(str(tmp_path / 'pictures/b.png'), cv2.imread(str(made / 'val/images/000001.jpg')))
    with pytest.raises(DataError, match=r'backgrounds is 1 pictures \(\w{8}\) \(asked for: 2 pictures \(\w{8}\)\)\. To '
                                        'add to them, give --backgrounds with the folder of those pictures;'):
        make_set(tmp_path / 'set', 2, options)
    with pytest.raises(DataError, match='backgrounds is none .*--size 64 48 --val-every 3 and no --backgrounds'):
        make_set(made, 2, replace(options, size=(32, 24)))


def test_without_ray_the_engine_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'ray', None)
    with pytest.raises(ImportError, match=r'pip install "sapiens2\[ray\]"'):
        make_set(tmp_path, 1, OPTIONS, engine='ray')


def test_workers_elsewhere_get_paths_that_hold_there(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    Path('pictures').mkdir()
    cv2.imwrite('pictures/a.png', cv2.imread(str(made / 'train/images/000000.jpg')))
    makers = []

    def elsewhere(maker, items):
        makers.append(maker)
        monkeypatch.chdir('/')
        yield from ((item, maker(item)) for item in items)

    monkeypatch.setattr(ray_engine, 'ray_results_of', elsewhere)
    make_set('set', 1, SetOptions(size=(24, 24), val_every=0, backgrounds=Path('pictures')), engine='ray')
    assert (tmp_path / 'set/train/images/000000.jpg').is_file()
    assert (tmp_path / 'set/annotations/keypoints_train.json').is_file()
    assert makers[0].recipe.backgrounds == (str(tmp_path / 'pictures/a.png'),)


@pytest.mark.slow
def test_ray_makes_the_same_bytes(made, tmp_path, hashes):
    ray = pytest.importorskip('ray')
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        make_set(tmp_path, 6, OPTIONS, engine='ray')
    finally:
        ray.shutdown()
    assert hashes(tmp_path) == hashes(made)


@pytest.mark.parametrize('target, task', [('', 'seg'), ('', 'normal'), ('', 'pointmap'), ('', 'albedo'),
                                          ('annotations/keypoints_train.json', 'pose'),
                                          ('annotations/keypoints_val.json', 'pose')])
def test_the_check_of_data_sets_finds_nothing(made, target, task, capsys):
    code = main(['data', 'check', str(made / target), '--task', task, '--strict', '--workers', '0'])
    assert code == 0, capsys.readouterr()


def test_statistics_count_every_sample(made):
    statistics = statistics_of(SynthFolder(made, 3))
    assert statistics['samples'] == 6 and statistics['people'] >= 6 and len(statistics['classes']) == 29
    assert sum(row['pixels_percent'] for row in statistics['classes'].values()) == pytest.approx(100)
    assert sum(row['of_people_percent'] for row in statistics['classes'].values()) == pytest.approx(100)
    for row in statistics['keypoints'].values():
        assert sum(row.values()) == pytest.approx(100)
    assert '| Face_Neck |' in markdown_of(statistics)
