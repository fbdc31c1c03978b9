"""COCO and COCO-WholeBody on a miniature of their files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import COCO17_NAMES

HEIGHT, WIDTH = 60, 80
WHOLEBODY = {'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}
FILES = {'coco': 'person_keypoints_{}2017.json', 'coco-wholebody': 'coco_wholebody_{}_v1.0.json'}


def person(number: int, image: int, **changes: Any) -> dict[str, Any]:
    """An annotation of a person in the rectangle from (10, 5) to (40, 55)."""
    points = np.full((17, 3), 2.0)
    points[:, 0], points[:, 1] = np.linspace(12, 38, 17), np.linspace(8, 52, 17)
    points[3] = 0
    parts = {name: [20.0, 30.0, 1.0] * count for name, count in WHOLEBODY.items()}
    flags = {f'{name.removesuffix("_kpts")}_valid': name != 'face_kpts' for name in WHOLEBODY}
    return {'id': number, 'image_id': image, 'category_id': 1, 'iscrowd': 0, 'num_keypoints': 16, 'area': 1500.0,
            'bbox': [10.0, 5.0, 30.0, 50.0], 'keypoints': points.ravel().tolist(),
            'segmentation': [[10, 5, 40, 5, 40, 55, 10, 55]], **parts, **flags, **changes}


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def source(tmp_path: Path, name: str) -> Path:
    """Two splits with a grey photograph, a crowd, an animal, an image of nobody, a missing file and an empty box."""
    root = tmp_path / 'my downloads/coco'
    runs = np.zeros((HEIGHT, WIDTH), np.uint8)
    runs[:, 30:60] = 1
    counts = [HEIGHT * 30, HEIGHT * 30, HEIGHT * 20]
    crowd = person(4, 1, iscrowd=1, segmentation=dict(size=[HEIGHT, WIDTH], counts=counts), bbox=[30, 0, 30, 60])
    annotations = [person(1, 1), crowd, person(2, 2), person(3, 4), person(5, 2, bbox=[1, 1, 0, 9]),
                   {'id': 6, 'image_id': 3, 'category_id': 18, 'bbox': [0, 0, 5, 5], 'iscrowd': 0}]
    images = [dict(id=i, file_name=f'{i:012d}.jpg', height=HEIGHT, width=WIDTH, license=1) for i in (1, 2, 3, 4)]
    categories = [dict(id=1, name='person', supercategory='person', keypoints=list(COCO17_NAMES), skeleton=[]),
                  dict(id=18, name='dog', supercategory='animal')]
    for split in ('train', 'val'):
        folder = root / 'images' / f'{split}2017'
        folder.mkdir(parents=True)
        for image in images[:3]:
            Image.new('L' if image['id'] == 2 else 'RGB', (WIDTH, HEIGHT)).save(folder / image['file_name'])
        path = root / 'annotations' / FILES[name].format(split)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(dict(info={}, licenses=[], images=images, annotations=annotations,
                                        categories=categories)))
    return root


def test_people_are_converted_and_trained_on(name, source, tmp_path, convert, build_from_command) -> None:
    result = convert(name, source)
    assert result.code == 1
    skipped = (tmp_path / 'out/skipped.txt').read_text().splitlines()
    assert sorted('000000000004.jpg: is missing' in line or 'annotation 5' in line for line in skipped) == [True] * 4
    assert all(line in result.messages for line in skipped)
    content = json.loads((tmp_path / 'out/annotations' / FILES[name].format('train')).read_text())
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
    path = source / 'annotations' / FILES[name].format('train')
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def test_a_split_of_which_nothing_is_left(name, source, tmp_path, convert) -> None:
    for path in (source / 'images/train2017').iterdir():
        path.write_bytes(b'cut')
    result = convert(name, source, '--split', 'train')
    assert result.code == 1 and '000000000001.jpg' in result.messages
    content = json.loads((tmp_path / 'out/annotations' / FILES[name].format('train')).read_text())
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
    path = source / 'annotations' / FILES[name].format('train')
    path.rename(path.with_name(FILES['coco'].format('train')))
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
    path = source / 'annotations' / FILES[name].format('val')
    content = json.loads(path.read_text())
    for image in content['images']:
        image['height'] = str(image['height'])
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"no person in it can be used; .*\n.*image 1: height must be .*'60'"):
        convert(name, source, '--split', 'val')
