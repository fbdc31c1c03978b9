"""Generated folders: same bytes however they are made, resumable, and fit for every task."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile

import numpy as np
import pytest
from rich.console import Console

from sapiens2.datasets import CocoPoseDataset, DenseFolderDataset
from sapiens2.datasets.errors import DataError

pytest.importorskip('anny')
pytest.importorskip('embreex')
from sapiens2.synth.folder import SynthFolder  # noqa: E402
from sapiens2.synth.make_set import GENERATION, SetOptions, make_set  # noqa: E402
from sapiens2.synth.next_steps import describe_next, next_commands  # noqa: E402
from sapiens2.synth.sample import FOLDERS  # noqa: E402
from sapiens2.utils.config import load_config  # noqa: E402
from sapiens2.utils.paths import configs_dir  # noqa: E402

OPTIONS = SetOptions(seed=3, size=(96, 72), val_every=3)


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp('synth') / 'set'
    make_set(root, 4, OPTIONS, shards=2)
    return root


def test_the_same_bytes_from_three_processes_and_after_a_stop(made, tmp_path, hashes):
    make_set(tmp_path / 'a', 2, OPTIONS, workers=1)
    # As a kill leaves it: a sample without its line, and a line that is cut off.
    lines = (tmp_path / 'a' / 'samples.jsonl').read_text().splitlines(keepends=True)
    (tmp_path / 'a' / 'samples.jsonl').write_text(lines[0] + lines[1][:20])
    assert [record['index'] for record in SynthFolder(tmp_path / 'a', 3).records()] == [0]
    make_set(tmp_path / 'a', 4, OPTIONS, workers=3, shards=2)
    found = hashes(tmp_path / 'a')
    assert found == hashes(made)
    assert {'samples.jsonl', 'manifest.json', 'annotations/keypoints_val.json', 'shards/val-000000.tar'} < found.keys()
    assert [record['index'] for record in SynthFolder(tmp_path / 'a', 3).records()] == [0, 1, 2, 3]


def test_two_samples_are_enough_to_hold_one_out():
    for every in (1, 2, 3, 10, 100):
        splits = [SynthFolder('set', every).split(index) for index in range(2 * every + 2)]
        assert splits[1] == 'val' and splits.count('val') / len(splits) <= 1 / every + 1e-9 + 1 / len(splits)
    assert {SynthFolder('set', 0).split(index) for index in range(20)} == {'train'}
    assert [SynthFolder('set', 2, 3).split(index) for index in range(7)] == ['train'] * 3 + ['val'] * 3 + ['train']


@pytest.mark.parametrize('file', ['val/images/000001.jpg', 'train/depths/000003.npz', 'val/people/000001.json'])
def test_files_that_are_gone_are_made_again(made, tmp_path, hashes, file):
    root = tmp_path / 'set'
    shutil.copytree(made, root)
    (root / file).unlink()
    (root / 'annotations/keypoints_val.json').unlink()
    text = io.StringIO()
    make_set(root, 4, OPTIONS, shards=2, console=Console(file=text, width=200))
    assert '4 samples in' in text.getvalue() and '1 of them new' in text.getvalue()
    assert hashes(root) == hashes(made)


def test_a_folder_that_is_gone_is_made_again(made, tmp_path, hashes):
    root = tmp_path / 'set'
    shutil.copytree(made, root)
    shutil.rmtree(root / 'val')
    make_set(root, 4, OPTIONS, shards=2)
    assert hashes(root) == hashes(made)


@pytest.mark.parametrize('content, message', [
    ('{}', 'manifest.json is no manifest of generated samples; give another folder, or delete this one'),
    ('[1]', 'is no manifest'), ('{"options": 3, "versions": []}', 'is no manifest'),
    ('{"options": {"format": "other"}, "versions": []}', 'is no manifest'),
    ('{"opti', 'manifest.json: cannot be read as JSON.*; give another folder, or delete this one'),
    ('', 'cannot be read as JSON')])
def test_a_damaged_manifest_is_named_with_the_remedy(tmp_path, content, message):
    (tmp_path / 'manifest.json').write_text(content)
    with pytest.raises(DataError, match=message):
        make_set(tmp_path, 1, OPTIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['.lock', 'manifest.json']


def test_a_folder_of_another_generation_is_refused(made, tmp_path):
    manifest = json.loads((made / 'manifest.json').read_text())
    assert manifest['options']['generation'] == GENERATION
    manifest['options']['generation'] = GENERATION - 1
    manifest['versions'] = [{'sapiens2': '0.0.7'}]
    (tmp_path / 'manifest.json').write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=rf'generation {GENERATION - 1} of the generator.*makes generation {GENERATION}'
                                        r'.*\(sapiens2 0\.0\.7\), or give another folder'):
        make_set(tmp_path, 1, OPTIONS)


@pytest.mark.parametrize('line', ['garbage', '{"index": 1}', '[]', '{"index": "1", "split": "val", "sha256": {}}', ''])
def test_a_damaged_line_is_named_with_the_remedy(made, tmp_path, hashes, line):
    root = tmp_path / 'set'
    shutil.copytree(made, root)
    lines = (made / 'samples.jsonl').read_text().splitlines()
    (root / 'samples.jsonl').write_text('\n'.join([lines[0], line, *lines[2:], '']))
    with pytest.raises(DataError, match=r'samples\.jsonl: line 2 is no record of a sample.*delete that line'):
        make_set(root, 4, OPTIONS)
    (root / 'samples.jsonl').write_text('\n'.join([lines[0], *lines[2:], '']))
    make_set(root, 4, OPTIONS, shards=2)
    assert hashes(root) == hashes(made)


def test_what_to_type_next(made, tmp_path, monkeypatch):
    commands = next_commands(made)
    assert ['sapiens2', 'data', 'check', str(made), '--strict'] in commands
    trained = [command for command in commands if command[1] == 'train']
    assert len(trained) == 5
    for command in trained:
        options = dict([command[4].split('=', 1)])
        cfg = load_config(command[2], options)
        assert str(made) in str(cfg.train_dataloader) and str(made) in str(cfg.val_dataloader)
    monkeypatch.chdir(configs_dir().parent)
    assert 'sapiens2 train configs/pose/sapiens2-tiny_pose_synth-256x192.py' in describe_next(made)
    assert 'train' not in describe_next(tmp_path / 'empty')


def test_the_list_tells_every_file_by_its_hash(made):
    folder = SynthFolder(made, 3)
    for record in folder.records():
        for name, digest in record['sha256'].items():
            assert hashlib.sha256(folder.path(record['index'], name).read_bytes()).hexdigest() == digest


def test_other_options_and_other_folders_are_refused(made, tmp_path):
    with pytest.raises(DataError, match=r'seed is 3 \(asked for: 4\), val_every is 3 \(asked for: 10\), shots is whole '
                                        r'hips bust face \(asked for: bust\), focal_lengths is 24 135 \(asked for: 50 '
                                        r'50.5\)\. To add to them, give --seed 3 --val-every 3 --shots whole hips bust '
                                        r'face --focal 24 135; for'):
        make_set(made, 4, SetOptions(seed=4, size=(96, 72), shots=('bust',), focal_lengths=(50, 50.5)))
    (tmp_path / 'mine.txt').write_text('notes')
    with pytest.raises(DataError, match='not empty'):
        make_set(tmp_path, 1, OPTIONS)


def test_a_shard_holds_whole_samples(made):
    with tarfile.open(made / 'shards' / 'train-000000.tar') as tar:
        names = tar.getnames()
        assert {name.split('.')[0] for name in names} == {'000000', '000002'}
        assert len(names) == 2 * len(FOLDERS)
        assert tar.extractfile('000000.images.jpg').read() == (made / 'train/images/000000.jpg').read_bytes()


@pytest.mark.parametrize('fields', [
    {'sem_seg': 'labels'}, {'normal': 'normals', 'mask': 'masks'}, {'albedo': 'albedos', 'mask': 'masks'},
    {'depth': 'depths', 'K': 'cameras', 'mask': 'masks'}])
def test_dense_data_sets_read_it(made, fields):
    dataset = DenseFolderDataset(data_root=str(made / 'train'), data_prefix={'img_path': 'images', **fields},
                                 pipeline=[dict(type='LoadImage'), dict(type='LoadFields')])
    assert len(dataset) == 3
    sample = dataset[0]
    assert sample['img'].shape == (96, 72, 3)
    for name in fields:
        assert np.isfinite(sample[name]).all()


def test_key_points_are_read_and_lie_on_their_person(made):
    dataset = CocoPoseDataset(str(made / 'annotations' / 'keypoints_train.json'),
                              data_prefix=dict(img_path=str(made)))
    content = json.loads((made / 'annotations' / 'keypoints_train.json').read_text())
    assert len(dataset) > 0
    for annotation in content['annotations']:
        points = np.array(annotation['keypoints']).reshape(308, 3)
        assert set(points[:, 2]) <= {0, 1, 2}
        x, y, w, h = annotation['bbox']
        seen = points[points[:, 2] == 2]
        assert (seen[:, 0] > x - 3).all() and (seen[:, 0] < x + w + 3).all()
        assert (seen[:, 1] > y - 3).all() and (seen[:, 1] < y + h + 3).all()
