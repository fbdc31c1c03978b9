"""Layouts of data for probes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from sapiens2.datasets.errors import DataError
from sapiens2.evaluation.probes import open_data
from sapiens2.evaluation.probes.attributes import _view, synth_attributes


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.random.default_rng(seed).integers(0, 256, (8, 6, 3), dtype=np.uint8))


def test_folders_of_classes_with_splits(tmp_path):
    for seed, name in enumerate(('train/cat/a.png', 'train/dog/b.png', 'val/cat/c.png')):
        picture(tmp_path / name, seed)
    data = open_data(tmp_path)
    assert [(image.name, image.split, image.attributes['class']) for image in data.images] == [
        ('train/cat/a.png', 'train', 'cat'), ('train/dog/b.png', 'train', 'dog'), ('val/cat/c.png', 'val', 'cat')]


def test_a_split_is_made_by_seed_and_stays(tmp_path):
    for seed in range(40):
        picture(tmp_path / ('cat' if seed % 2 else 'dog') / f'{seed}.png', seed)
    first, again, other = open_data(tmp_path, 1), open_data(tmp_path, 1), open_data(tmp_path, 2)
    assert 1 <= len(first.indices('val')) <= 16
    assert first.images == again.images != other.images


def test_identities_stay_together(tmp_path):
    lines = ['image,identity,colour']
    for seed in range(60):
        picture(tmp_path / f'{seed}.png', seed)
        lines.append(f'{seed}.png,p{seed // 3},{"red" if seed % 2 else ""}')
    (tmp_path / 'labels.csv').write_text('\n'.join(lines))
    data = open_data(tmp_path)
    people = {split: {data.images[index].attributes['identity'] for index in data.indices(split)}
              for split in ('train', 'val')}
    assert not people['train'] & people['val']
    assert sum('colour' in image.attributes for image in data.images) == 30


def test_somebody_in_both_splits_is_refused(tmp_path):
    picture(tmp_path / 'a.png', 0)
    picture(tmp_path / 'b.png', 1)
    (tmp_path / 'labels.csv').write_text('image,split,identity\na.png,train,ann\nb.png,val,ann\n')
    with pytest.raises(DataError, match='identity ann is in both splits.*a.png.*b.png'):
        open_data(tmp_path)


def test_the_same_picture_in_both_splits_is_refused(tmp_path):
    picture(tmp_path / 'train/cat/a.png', 0)
    picture(tmp_path / 'val/cat/b.png', 0)
    with pytest.raises(DataError, match='are the same picture, in both splits'):
        open_data(tmp_path)


@pytest.mark.parametrize('table, message', [
    ('name\na.png\n', "one of them 'image'"),
    ('image,x\na.png\n', 'line 2: it has another number of cells'),
    ('image,x\na.png,1\na.png,2\n', 'line 3: a.png has a row already'),
    ('image,split\na.png,test\n', "line 2: split is 'test'"),
    ('image,x\nb.png,1\n', 'b.png is none of the pictures'),
])
def test_faults_of_tables_are_named(tmp_path, table, message):
    picture(tmp_path / 'a.png', 0)
    (tmp_path / 'labels.csv').write_text(table)
    with pytest.raises(DataError, match=message):
        open_data(tmp_path)


def test_an_empty_split_and_a_missing_folder(tmp_path):
    picture(tmp_path / 'train/cat/a.png', 0)
    with pytest.raises(DataError, match='no picture is in val'):
        open_data(tmp_path)
    with pytest.raises(DataError, match='is no folder'):
        open_data(tmp_path / 'nothing')


def test_what_is_known_of_generated_people(tmp_path):
    person = {'description': {'age_group': 'old', 'gender': 0.9, 'skin_darkness': 0.4, 'hair': 'bun',
                              'expression': 'grin', 'pose': {'family': 'sit'}, 'wears': ['skirt', 'boots', 'glasses']}}
    path = tmp_path / 'people.json'
    import json
    path.write_text(json.dumps({'people': [person], 'scene': {'place': 'room'}}))
    assert synth_attributes(path) == {
        'people': '1', 'place': 'room', 'age_group': 'old', 'hair': 'bun', 'expression': 'grin', 'sex': 'female',
        'skin': 'medium', 'pose': 'sit', 'lower_clothing': 'skirt', 'feet': 'boots', 'glasses': 'glasses',
        'hat': 'none'}
    path.write_text(json.dumps({'people': [person, person], 'scene': {}}))
    assert synth_attributes(path) == {'people': '2'}


@pytest.mark.parametrize('left, right, view', [
    ((0.2, 0, 3), (-0.2, 0, 3), 'front'), ((-0.2, 0, 3), (0.2, 0, 3), 'back'),
    ((0, 0, 2.8), (0, 0, 3.2), 'left'), ((0, 0, 3.2), (0, 0, 2.8), 'right')])
def test_the_side_that_is_seen(left, right, view):
    points = [(0, 0, 0)] * 5 + [left, right]
    assert _view(points) == view
