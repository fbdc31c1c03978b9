"""Entries of COCO files that would be read as something else, or end in a traceback: each is an error that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapiens2.datasets import CocoPoseDataset, CocoSegDataset, DataError
from sapiens2.datasets.errors import Kind
from sapiens2.datasets.json_files import numbers
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo
from sapiens2.utils.image_io import write_image

HUGE = 10**400
POINTS = [value for number in range(17) for value in (10.0 + number, 20.0, 2)]
STEPS = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale'), dict(type='TopdownAffine', input_size=(48, 64)),
         dict(type='PackInputs')]


def content(*people: dict[str, Any], **changes: Any) -> dict[str, Any]:
    base = {'id': 7, 'image_id': 1, 'category_id': 1, 'bbox': [5, 5, 40, 40], 'keypoints': POINTS, 'area': 100.0,
            'segmentation': [[5, 5, 45, 5, 45, 45]]}
    return {'images': [dict(id=1, file_name='a.png', width=60, height=60)],
            'annotations': [{**base, **person} for person in people or ({},)],
            'categories': [dict(id=1, name='person')], **changes}


def pose(folder: Path, stored: dict[str, Any], **options: Any) -> CocoPoseDataset:
    (folder / 'x.json').write_text(json.dumps(stored))
    write_image(folder / 'a.png', np.zeros((60, 60, 3), np.uint8))
    return CocoPoseDataset(ann_file='x.json', data_root=str(folder), data_prefix=dict(img_path=''), pipeline=STEPS,
                           serialize_data=False, **options)


def seg(folder: Path, stored: dict[str, Any], **options: Any) -> CocoSegDataset:
    pose(folder, stored, lazy_init=True)
    return CocoSegDataset(ann_file='x.json', data_root=str(folder), data_prefix=dict(img_path=''),
                          classes=['Background', 'person'], serialize_data=False,
                          pipeline=[dict(type='LoadImage'), dict(type='LoadFields')], **options)


@pytest.mark.parametrize('person, words', [
    (dict(iscrowd='0'), "iscrowd must be 0 or 1, this is '0'"), (dict(iscrowd='false'), "'false'"),
    (dict(iscrowd=[0]), r'iscrowd .*\[0\]'), (dict(iscrowd=2), 'iscrowd .*2')])
def test_crowds_are_said_by_numbers(tmp_path: Path, person: dict[str, Any], words: str) -> None:
    for build in (pose, seg):
        with pytest.raises(DataError, match=f'annotation 7: .*{words}'):
            build(tmp_path, content(person))
    for value in (None, 0, False, 0.0):
        assert len(pose(tmp_path, content(dict(iscrowd=value)))) == 1


@pytest.mark.parametrize('person, words', [
    (dict(bbox=[0.5, 0, HUGE, 5]), 'annotation 7: bbox'), (dict(keypoints=[0.5, HUGE, 2] * 17), 'annotation 7: keypoi'),
    (dict(area=HUGE), 'annotation 7: area'), (dict(area=-5), 'annotation 7: area must not be negative'),
    (dict(id=HUGE), 'id must fit into 64 bits'), (dict(image_id=HUGE), 'annotation 7: image_id must fit'),
    (dict(bbox=[10, 10, 1e-9, 1e-9]), 'annotation 7: bbox .*less than 0.1 pixels'),
    (dict(bbox=[58.99, 58.99, 40, 40]), 'annotation 7: bbox .*less than 0.1 pixels')])
def test_numbers_that_cannot_be(tmp_path: Path, person: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=f'x.json: .*{words}') as caught:
        pose(tmp_path, content(person))
    assert len(str(caught.value)) < 500 and caught.value.fault.field


@pytest.mark.parametrize('segmentation', [
    [[0.5, HUGE, 1, 1, 2, 2]], dict(size=[60, 60], counts=[HUGE]), dict(size=[60, 60], counts=[2**62, 2**62, 3600]),
    dict(size=[60, 60], counts=[0.5, HUGE]), dict(size=[60, 60], counts=[float('nan'), 3600])])
def test_outlines_that_cannot_be(tmp_path: Path, segmentation: Any) -> None:
    with pytest.raises(DataError, match='x.json: annotation 7: segmentation'):
        seg(tmp_path, content(dict(segmentation=segmentation)))[0]


def test_numbers_of_a_list() -> None:
    for values in ([0.5, HUGE], [HUGE], ['1', '2'], [[1], [1, 2]]):
        with pytest.raises(ValueError):
            numbers(values, np.float32)
    with pytest.raises(ValueError):
        numbers([1e30], np.int64)


@pytest.mark.parametrize('name, words', [
    ('', 'is empty'), ('a\0.png', 'NUL'), ('sub\\a.png', 'backslash'), ('/tmp/a.png', 'absolute'),
    ('../a.png', 'leads out'), ('b/../../a.png', 'leads out'), ('\ud800.png', 'surrogate')])
def test_names_of_images(tmp_path: Path, name: str, words: str) -> None:
    images = [dict(id=1, file_name=name, width=60, height=60)]
    for build in (pose, seg):
        with pytest.raises(DataError, match=f'x.json: image 1: file_name .*{words}') as caught:
            build(tmp_path, content(images=images))
        assert 'img_path' in str(caught.value)
    (tmp_path / 'b').mkdir()
    assert len(pose(tmp_path, content(images=[dict(id=1, file_name='b/x\u2028..y.png', width=60, height=60)]))) == 1


def test_ids_may_be_text(tmp_path: Path) -> None:
    sample = pose(tmp_path, content(dict(id='person ü')))[0]['data_samples']
    assert sample.sample_id.endswith('(annotation person ü)') and 'ann_id' not in sample.gt_instances


def test_categories_with_other_key_points(tmp_path: Path) -> None:
    names = list(COCO17_NAMES)
    categories = [dict(id=1, name='person', keypoints=names), dict(id=2, name='back', keypoints=names[::-1])]
    with pytest.raises(DataError, match='category 2: its keypoints are not those of category 1') as caught:
        pose(tmp_path, content({}, dict(id=8, category_id=2), categories=categories))
    assert caught.value.fault.kind is Kind.AMBIGUOUS
    info = pose(tmp_path, content(dict(category_id=2), categories=categories)).get_data_info(0)
    nose = load_metainfo('sapiens308')['keypoint_names'].index('nose')
    assert info['keypoints'][0, nose, 0] == 26  # of the one category with points, in its order


@pytest.mark.parametrize('names, words', [
    ('nose', 'must be a list of names'), (list(range(17)), 'must be a list of names'), (True, 'list of names'),
    ([['nose']] * 17, 'list of names'), (['nose'] * 17, "'nose' twice")])
def test_names_of_key_points(tmp_path: Path, names: Any, words: str) -> None:
    with pytest.raises(DataError, match=f'category 1: keypoints .*{words}'):
        pose(tmp_path, content(categories=[dict(id=1, name='person', keypoints=names)]))


@pytest.mark.parametrize('count, given, words', [
    (308, 'coco_wholebody', "924 numbers; .*so many fit keypoint_set='sapiens308'"),
    (133, 'coco', "399 numbers; .*so many fit keypoint_set='coco_wholebody'"),
    (17, 'sapiens308', "51 numbers; .*so many fit keypoint_set='coco'"),
    (3, 'coco', '9 numbers; .*the names in the categories'), (5, 'coco', 'check keypoint_set')])
def test_the_set_that_fits_is_named(tmp_path: Path, count: int, given: str, words: str) -> None:
    categories = [dict(id=1, name='person', keypoints=['nose', 'neck', 'left_eye'])]
    with pytest.raises(DataError, match=words):
        pose(tmp_path, content(dict(keypoints=[9, 9, 2] * count), categories=categories), keypoint_set=given)


def test_names_in_another_order_than_the_set(tmp_path: Path) -> None:
    categories = [dict(id=1, name='person', keypoints=list(COCO17_NAMES)[::-1])]
    with pytest.raises(DataError, match='in another order; leave out keypoint_set'):
        pose(tmp_path, content(categories=categories), keypoint_set='coco')


def test_names_that_the_model_lacks_are_said(tmp_path: Path) -> None:
    categories = [dict(id=1, name='person', keypoints=['head', 'neck'])]
    dataset = pose(tmp_path, content(dict(keypoints=[9, 9, 2] * 2), categories=categories), lazy_init=True)
    found: list = []
    dataset.report = found.append
    dataset.full_init()
    fault, = found
    assert fault.warning and 'key points head are none' in str(fault) and len(dataset) == 1


def test_hidden_points_are_told_apart(tmp_path: Path) -> None:
    info = pose(tmp_path, content(dict(keypoints=[9, 9, 1, *POINTS[3:48], 0, 0, 0]))).get_data_info(0)
    assert info['keypoints_visible'].sum() == 16 and info['keypoints_hidden'].sum() == 1


def test_categories_with_one_id(tmp_path: Path) -> None:
    categories = [dict(id=1, name='person'), dict(id=1, name='Background')]
    with pytest.raises(DataError, match='category 1: its id is used twice'):
        seg(tmp_path, content(categories=categories))


@pytest.mark.parametrize('target', [3, ['person'], 'persona', True])
def test_classes_that_categories_cannot_become(tmp_path: Path, target: Any) -> None:
    with pytest.raises(DataError, match=r"label_map\['person'\]: unknown class"):
        seg(tmp_path, content(), label_map=dict(person=target))
