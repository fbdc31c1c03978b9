"""Generated folders: same bytes however they are made, resumable, and fit for every task."""

from __future__ import annotations

import hashlib
import json
import tarfile

import numpy as np
import pytest

from sapiens2.datasets import CocoPoseDataset, DenseFolderDataset
from sapiens2.datasets.errors import DataError

pytest.importorskip('anny')
pytest.importorskip('embreex')
from sapiens2.synth.folder import SynthFolder  # noqa: E402
from sapiens2.synth.make_set import SetOptions, make_set  # noqa: E402
from sapiens2.synth.sample import FOLDERS  # noqa: E402

OPTIONS = SetOptions(seed=3, size=(96, 72), val_every=3)


def hashes(root):
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob('*')) if path.is_file() and path.name not in ('samples.jsonl', '.lock')}


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp('synth') / 'set'
    make_set(root, 4, OPTIONS, shards=2)
    return root


def test_the_same_bytes_from_two_processes_and_after_a_stop(made, tmp_path):
    make_set(tmp_path / 'a', 2, OPTIONS, workers=1)
    # As a kill leaves it: a sample without its line, and a line that is cut off.
    lines = (tmp_path / 'a' / 'samples.jsonl').read_text().splitlines(keepends=True)
    (tmp_path / 'a' / 'samples.jsonl').write_text(lines[0] + lines[1][:20])
    make_set(tmp_path / 'a', 4, OPTIONS, workers=2, shards=2)
    assert hashes(tmp_path / 'a') == hashes(made)
    assert sorted(record['index'] for record in SynthFolder(tmp_path / 'a', 3).records()) == [0, 1, 2, 3]


def test_the_list_tells_every_file_by_its_hash(made):
    folder = SynthFolder(made, 3)
    for record in folder.records():
        for name, digest in record['sha256'].items():
            assert hashlib.sha256(folder.path(record['index'], name).read_bytes()).hexdigest() == digest


def test_other_options_and_other_folders_are_refused(made, tmp_path):
    with pytest.raises(DataError, match='seed is 3 .* and 4 was asked'):
        make_set(made, 4, SetOptions(seed=4, size=(96, 72), val_every=3))
    (tmp_path / 'mine.txt').write_text('notes')
    with pytest.raises(DataError, match='not empty'):
        make_set(tmp_path, 1, OPTIONS)


def test_a_shard_holds_whole_samples(made):
    with tarfile.open(made / 'shards' / 'train-000000.tar') as tar:
        names = tar.getnames()
        assert {name.split('.')[0] for name in names} == {'000000', '000001'}
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
