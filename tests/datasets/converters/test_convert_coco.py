"""COCO and COCO-WholeBody on a miniature of their files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tiny_sources import COCO_FILES, COCO_SIZE, coco_person, write_coco

from sapiens2.datasets.errors import DataError

@pytest.fixture(params=COCO_FILES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def source(tmp_path: Path, name: str) -> Path:
    """Two splits with a grey photograph, a crowd, an animal, an image of nobody, a missing file and an empty box."""
    root, (height, width) = tmp_path / 'my downloads/coco', COCO_SIZE
    runs = dict(size=[height, width], counts=[height * 30, height * 30, height * 20])
    crowd = coco_person(4, 1, iscrowd=1, segmentation=runs, bbox=[30, 0, 30, 60])
    write_coco(root, name, more=[crowd, coco_person(3, 4), coco_person(5, 2, bbox=[1, 1, 0, 9])], missing=[4])
    return root


def test_people_are_converted_and_trained_on(name, source, tmp_path, convert, build_from_command) -> None:
    result = convert(name, source)
    assert result.code == 1
    skipped = (tmp_path / 'out/skipped.txt').read_text().splitlines()
    assert sorted('000000000004.jpg: is missing' in line or 'annotation 5' in line for line in skipped) == [True] * 4
    assert all(line in result.messages for line in skipped)
    content = json.loads((tmp_path / 'out/annotations' / COCO_FILES[name].format('train')).read_text())
    assert [image['id'] for image in content['images']] == [1, 2]
    assert [annotation['id'] for annotation in content['annotations']] == [1, 4, 2]
    assert [category['name'] for category in content['categories']] == ['person']

    pose = build_from_command(result.commands[-1])
    assert len(pose) == len(build_from_command(result.commands[-1], 'val')) == 2
    weights = pose[0]['data_samples'].gt_fields.keypoint_weights
    assert int((weights > 0).sum()) <= (16 if name == 'coco' else 16 + 6 + 40)
    assert (weights > 0).any()


def test_people_against_the_rest(name, source, tmp_path, convert, build_from_command) -> None:
    result = convert(name, source)
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == [
        'annotations', 'conversion.json', 'skipped.txt', 'train2017', 'val2017']
    seg, val = build_from_command(result.commands[0]), build_from_command(result.commands[0], 'val')
    assert seg.metainfo['classes'] == ['Background', 'person'] and len(seg) == len(val) == 2
    assert set(seg[0]['data_samples'].gt_fields.sem_seg.unique().tolist()) <= {0, 1, 255}
    labels = val[0]['data_samples'].eval_fields.sem_seg
    assert labels[30, 25] == labels[30, 35] == 1 and labels[30, 50] == 255 and labels[30, 70] == labels[1, 1] == 0


def change(source: Path, name: str, edit: Callable[[dict[str, Any]], object]) -> None:
    path = source / 'annotations' / COCO_FILES[name].format('train')
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_a_split_of_which_nothing_is_left(name, source, tmp_path, convert) -> None:
    for path in (source / 'images/train2017').iterdir():
        path.write_bytes(b'cut')
    result = convert(name, source, '--split', 'train')
    assert result.code == 1 and '000000000001.jpg' in result.messages
    content = json.loads((tmp_path / 'out/annotations' / COCO_FILES[name].format('train')).read_text())
    assert content['images'] == content['annotations'] == []


@pytest.mark.parametrize('edit, words', [
    (lambda content: content['images'][1].pop('file_name'), "image 2: unknown field: 'file_name'"),
    (lambda content: content['images'][1].update(height='tall'), 'image 2: height must be a number'),
    (lambda content: content['images'].insert(1, dict(content['images'][0], height=7)), 'image 1: its id is used'),
    (lambda content: content['annotations'][0].pop('id'), "an annotation: unknown field: 'id'"),
    (lambda content: content['annotations'][2].update(id=1), 'annotation 1: its id is used twice'),
    (lambda content: content['annotations'][2].update(image_id=77), 'annotation 2: image_id 77 is not among'),
    (lambda content: content['annotations'][2].update(keypoints=[900.0, 9, 2] * 17), 'annotation 2: keypoints'),
])
def test_faults_of_the_annotations_are_named(name, source, tmp_path, convert, build_from_command, edit, words) -> None:
    change(source, name, edit)
    result = convert(name, source, '--split', 'train')
    assert result.code == 1 and words in (tmp_path / 'out/skipped.txt').read_text()
    for command in result.commands:  # what is left can be trained on
        assert len(build_from_command(command)) >= 1


def test_a_stopped_run_goes_on(name, source, tmp_path, convert) -> None:
    (source / 'images/train2017/000000000004.jpg').symlink_to(source / 'images/train2017/000000000001.jpg')
    assert convert(name, source, '--split', 'train', '--limit', 1, '--link').code == 1
    image = tmp_path / 'out/train2017/000000000001.jpg'
    assert os.stat(image).st_nlink == 2
    image.with_name('.partial-1-2.jpg').write_bytes(b'half')
    result = convert(name, source, '--split', 'train')
    assert sum(not path.name.startswith('.') for path in image.parent.iterdir()) == 3
    assert os.stat(image).st_nlink == 2
    assert result.code == 1  # the empty box is named again
    with pytest.raises(ValueError, match='conversion.json.*another folder'):
        convert('lip' if name == 'coco' else 'coco', _other(name, source, tmp_path), '--split', 'train')


def _other(name: str, source: Path, tmp_path: Path) -> Path:
    """A source that the other set's converter reads."""
    if name == 'coco':
        for kind, ending in (('images', '.jpg'), ('segmentations', '.png')):
            (tmp_path / f'lip/train_{kind}').mkdir(parents=True)
            Image.new('L', (8, 8)).save(tmp_path / f'lip/train_{kind}/a{ending}')
        return tmp_path / 'lip'
    path = source / 'annotations' / COCO_FILES[name].format('train')
    path.rename(path.with_name(COCO_FILES['coco'].format('train')))
    return source


def test_wrong_folders_are_named(name, source, tmp_path, convert) -> None:
    with pytest.raises(ValueError, match='annotation file.*is missing'):
        convert(name, source / 'images')
    with pytest.raises(ValueError, match='no folder'):
        convert(name, tmp_path / 'nowhere')
    with pytest.raises(ValueError, match='nothing may be changed'):
        convert(name, source, target=source / 'converted')
    with pytest.raises(ValueError, match="unknown split: 'tain'.*'train'"):
        convert(name, source, '--split', 'tain')
    with pytest.raises(ValueError, match="unknown option: 'views'"):
        convert(name, source, '--views', 3)


def test_reasons_are_given_where_nothing_is_left(source: Path, name: str, convert: Callable) -> None:
    path = source / 'annotations' / COCO_FILES[name].format('val')
    content = json.loads(path.read_text())
    for image in content['images']:
        image['height'] = str(image['height'])
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"no person in it can be used; .*\n.*image 1: height must be .*'60'"):
        convert(name, source, '--split', 'val')
