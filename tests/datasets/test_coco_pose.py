"""COCO key points of any set, and what is said of bad annotations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mmengine.dataset import pseudo_collate

from sapiens2.datasets import CocoPoseDataset, DataError
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import write_image

WIDTH, HEIGHT = 500, 80
META = load_metainfo('sapiens308')
PIPELINE = [dict(type='LoadImage'), dict(type='GetBBoxCenterScale'), dict(type='TopdownAffine', input_size=(48, 64)),
            dict(type='PackInputs')]


def flat(count: int, first: float = 1.0, v: float = 2) -> list[float]:
    return [value for i in range(count) for value in (first + i, 2.0 + i / 10, v)]


def annotation(**changes: Any) -> dict:
    return {'id': 7, 'image_id': 1, 'category_id': 1, 'bbox': [5, 10, 40, 60], 'iscrowd': 0, 'area': 900.0,
            'keypoints': flat(17), **changes}


def write(folder: Path, annotations: list[dict], names: tuple[str, ...] | None = COCO17_NAMES, **changes: Any) -> str:
    content = {
        'images': [{'id': 1, 'file_name': 'a.jpg', 'width': WIDTH, 'height': HEIGHT},
                   {'id': 2, 'file_name': 'nobody.jpg', 'width': WIDTH, 'height': HEIGHT}],
        'annotations': annotations,
        'categories': [{'id': 1, 'name': 'person', **({'keypoints': list(names)} if names else {})}], **changes}
    path = folder / 'people.json'
    path.write_text(json.dumps(content))
    write_image(folder / 'a.jpg', np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    return str(path)


def build(folder: Path, annotations: list[dict], **kwargs: Any) -> CocoPoseDataset:
    names = kwargs.pop('names', COCO17_NAMES)
    kwargs.setdefault('serialize_data', False)
    write(folder, annotations, names)
    return DATASETS.build(dict(type='CocoPoseDataset', ann_file='people.json', data_root=str(folder),
                               data_prefix=dict(img_path=''), **kwargs))


def test_coco_points_take_their_places_among_308(tmp_path: Path) -> None:
    info = build(tmp_path, [annotation()])[0]
    assert info['keypoints'].shape == (1, 308, 2) and info['keypoints_visible'].sum() == 17
    np.testing.assert_allclose(info['keypoints'][0, META['coco17_indices'], 0], np.arange(1, 18))
    assert info['bboxes'].tolist() == [[5, 10, 45, 70]] and info['area'].tolist() == [900]


def test_packed_sample(tmp_path: Path) -> None:
    dataset = build(tmp_path, [annotation(), annotation(id=8)], pipeline=PIPELINE)
    batch = pseudo_collate([dataset[0], dataset[1]])
    assert batch['inputs'][0].shape == (3, 64, 48) and batch['inputs'][0].dtype.is_floating_point is False
    sample = batch['data_samples'][1]
    assert sample.sample_id.endswith('a.jpg (annotation 8)') and sample.img_id == 1
    assert sample.ori_shape == (HEIGHT, WIDTH) and sample.img_shape == (64, 48)
    assert sample.gt_instances.bboxes.shape == (1, 4) and sample.gt_instances.keypoints.shape == (1, 308, 2)
    assert len(sample.input_center) == len(sample.input_scale) == 2


@pytest.mark.parametrize('changes', [{}, {'categories': []}])
def test_308_points_without_names_are_known_by_their_number(changes: dict, tmp_path: Path) -> None:
    write(tmp_path, [annotation(keypoints=flat(308))], names=None, **changes)
    dataset = CocoPoseDataset(ann_file='people.json', data_root=str(tmp_path), data_prefix=dict(img_path=''))
    info = dataset.get_data_info(0)
    assert info['keypoints_visible'].sum() == 308 and info['keypoints'][0, 307, 0] == 308


def test_wholebody(tmp_path: Path) -> None:
    person = annotation(
        foot_kpts=flat(6, 100), foot_valid=True, face_kpts=flat(68, 200), face_valid=True,
        lefthand_kpts=flat(21, 300, v=0.7), lefthand_valid=True, righthand_kpts=flat(21, 400), righthand_valid=False)
    info = build(tmp_path, [person])[0]
    index = {name: i for i, name in enumerate(META['keypoint_names'])}
    x, visible = info['keypoints'][0, :, 0], info['keypoints_visible'][0]
    assert x[index['left_big_toe']] == 100 and x[index['right_heel']] == 105
    assert x[index['left_thumb4']] == 304 and x[index['left_pinky_finger4']] == 320
    assert not visible[index['right_thumb4']]
    assert visible.sum() == 17 + 6 + 15
    joined = sum((person[part] for part in ('keypoints', 'foot_kpts', 'face_kpts', 'lefthand_kpts')), []) + [0.0] * 63
    other = build(tmp_path, [annotation(keypoints=joined)], keypoint_set='coco_wholebody')[0]
    np.testing.assert_array_equal(other['keypoints'], info['keypoints'])
    body = build(tmp_path, [person], target='coco')[0]
    assert body['keypoints'].shape == (1, 17, 2) and body['keypoints_visible'].sum() == 17


def test_sets_by_name(tmp_path: Path) -> None:
    info = build(tmp_path, [annotation(keypoints=flat(3))], names=('neck', 'head', 'left_wrist'))[0]
    named = {META['keypoint_names'][i]: info['keypoints'][0, i, 0] for i in np.flatnonzero(info['keypoints_visible'])}
    assert named == {'neck': 1, 'left_wrist': 3}  # there is no head among the 308
    whole = build(tmp_path, [annotation(keypoints=flat(308))], names=None, keypoint_set='sapiens308')[0]
    np.testing.assert_allclose(whole['keypoints'][0, :, 0], np.arange(1, 309))
    with pytest.raises(DataError, match='none of its key points'):
        build(tmp_path, [annotation(keypoints=flat(1))], names=('tail',))
    with pytest.raises(DataError, match='coco_wholebody'):
        build(tmp_path, [annotation()], keypoint_set='coco_wholebodi')
    with pytest.raises(DataError, match=r"hold 15 numbers, not 51 \(keypoint_set='coco'\), 399"):
        build(tmp_path, [annotation(keypoints=flat(5))], names=None)


def test_who_is_left_out(tmp_path: Path) -> None:
    people = [
        annotation(id=1), annotation(id=2, iscrowd=1), annotation(id=3, keypoints=[0] * 51),
        annotation(id=4, keypoints=flat(3) + [0] * 42),
        {'id': 5, 'image_id': 1, 'bbox': [0, 0, 9, 9]},
        annotation(id=6, keypoints=[0] * 51, bbox=[0, 0, 0, 0])]
    assert [int(info['ann_id'][0]) for info in build(tmp_path, people)] == [1, 4]
    assert len(build(tmp_path, people, min_visible_keypoints=8)) == 1
    with pytest.raises(DataError, match='no sample'):
        build(tmp_path, [])


@pytest.mark.parametrize('changes, words', [
    (dict(bbox=[5, 10, 0, 60]), ['annotation 7', 'bbox', 'empty']),
    (dict(bbox=[5, 10, -3, 60]), ['annotation 7', 'bbox', 'empty']),
    (dict(bbox=[5, float('nan'), 9, 60]), ['annotation 7', 'bbox', 'NaN']),
    (dict(bbox=[501, 10, 9, 60]), ['annotation 7', 'bbox', 'outside']),
    (dict(bbox=[1, 2, 3]), ['annotation 7', 'bbox', 'four numbers']),
    (dict(bbox=None), ['annotation 7', 'bbox', 'four numbers']),
    (dict(keypoints=flat(16)), ['annotation 7', 'keypoints', '48 numbers', '51']),
    (dict(keypoints=[float('nan'), 1, 2] + flat(16)), ['annotation 7', 'keypoints', 'NaN']),
    (dict(keypoints=['x'] * 51), ['annotation 7', 'keypoints', 'numbers']),
    (dict(image_id=99), ['annotation 7', 'image_id 99']),
])
def test_bad_annotations_are_named(tmp_path: Path, changes: dict, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        build(tmp_path, [annotation(**changes)])
    for word in ['people.json', *words]:
        assert word in str(caught.value)


def test_missing_fields_are_named(tmp_path: Path) -> None:
    person = annotation()
    person['box'] = person.pop('bbox')
    with pytest.raises(DataError, match="annotation 7.*'bbox'"):
        build(tmp_path, [person])
    write(tmp_path, [annotation()], images=[{'id': 1, 'file_name': 'a.jpg', 'height': 3}])
    with pytest.raises(DataError, match="image 1.*'width'"):
        CocoPoseDataset(ann_file=str(tmp_path / 'people.json'))


@pytest.mark.parametrize('content, words', [
    ('{', 'cannot be read as JSON'), ('[]', 'bbox_file'), ('{"images": [], "annotation": []}', "'annotation'")])
def test_bad_files_are_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / 'bad.json'
    path.write_text(content)
    with pytest.raises(DataError, match=words) as caught:
        CocoPoseDataset(ann_file=str(path))
    assert 'bad.json' in str(caught.value)
    with pytest.raises(DataError, match='none.json'):
        CocoPoseDataset(ann_file=str(tmp_path / 'none.json'))


def test_boxes_are_cut_to_the_picture(tmp_path: Path) -> None:
    info = build(tmp_path, [annotation(bbox=[-10, -10, 900, 900])])[0]
    assert info['bboxes'].tolist() == [[0, 0, WIDTH - 1, HEIGHT - 1]]


def test_detections(tmp_path: Path) -> None:
    found = [{'image_id': 1, 'category_id': 1, 'bbox': [1, 2, 30, 40], 'score': 0.9},
             {'image_id': 2, 'category_id': 1, 'bbox': [1, 2, 30, 40], 'score': 0.2},
             {'image_id': 1, 'category_id': 18, 'bbox': [1, 2, 30, 40], 'score': 0.9}]
    (tmp_path / 'found.json').write_text(json.dumps(found))
    options = dict(bbox_file='found.json', test_mode=True, pipeline=PIPELINE)
    assert len(build(tmp_path, [annotation()], **options)) == 2
    dataset = build(tmp_path, [annotation()], bbox_score_thr=0.5, **options)
    assert len(dataset) == 1
    sample = dataset[0]['data_samples']
    assert sample.gt_instances.bbox_scores.tolist() == pytest.approx([0.9])
    assert 'keypoints' not in sample.gt_instances
    (tmp_path / 'found.json').write_text(json.dumps([{**found[0], 'bbox': [1, 2, 0, 3]}]))
    with pytest.raises(DataError, match='found.json: detection 0.*empty'):
        build(tmp_path, [annotation()], **options)


def test_picture_of_another_size_or_orientation(tmp_path: Path) -> None:
    dataset = build(tmp_path, [annotation()], pipeline=PIPELINE)
    write_image(tmp_path / 'a.jpg', np.zeros((WIDTH, HEIGHT, 3), np.uint8))
    with pytest.raises(DataError, match='crosswise'):
        dataset[0]
    write_image(tmp_path / 'a.jpg', np.zeros((9, 9, 3), np.uint8))
    with pytest.raises(DataError, match='must be equal'):
        dataset[0]


@pytest.mark.parametrize('serialize', [True, False])
def test_samples_do_not_share_what_transforms_change(tmp_path: Path, serialize: bool) -> None:
    def spoil(results: dict) -> dict:
        results['bboxes'] += 5
        results['keypoints'] *= 0
        return results

    spoiler: Callable[[dict], dict] = spoil
    dataset = build(tmp_path, [annotation()], serialize_data=serialize, pipeline=[spoiler])
    assert dataset[0]['bboxes'].tolist() == dataset[0]['bboxes'].tolist() == [[10, 15, 50, 75]]


@pytest.mark.parametrize('changes, message', [
    ({'keypoints': 5}, 'annotation 7: keypoints must be a list'),
    ({'area': 'large'}, 'annotation 7: area must be a number'),
    ({'area': float('nan')}, 'annotation 7: area must be a number'),
    ({'area': True}, 'annotation 7: area must be a number, this is True'),
    ({'keypoints': ['2'] * 51}, 'annotation 7: keypoints must hold numbers only'),
    ({'keypoints': [True] * 51}, 'annotation 7: keypoints must hold numbers only'),
    ({'bbox': ['5', '10', '40', '60']}, 'annotation 7: bbox .* is no list of four numbers'),
    ({'image_id': [1]}, 'annotation 7: image_id must be a number or text'),
])
def test_fields_of_the_wrong_kind_are_named(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(DataError, match=f'people.json: {message}'):
        build(tmp_path, [annotation(**changes)])


@pytest.mark.parametrize('changes, message', [
    ({'annotations': [3]}, 'annotations 0 must be an object'),
    ({'images': None}, 'images must be a list'),
    ({'images': [{'id': 1, 'file_name': None, 'width': 3, 'height': 3}]}, 'image 1: file_name must be a text'),
    ({'images': [{'id': 1, 'file_name': 'a', 'width': 3, 'height': 'x'}]}, 'image 1: height must be a number'),
    ({'images': [{'id': [1]}]}, 'an image: id must be a number or text'),
    ({'images': [{'id': 1, 'file_name': 'a', 'width': True, 'height': 3}]}, 'image 1: width must be a number'),
    ({'categories': ['person']}, 'categories 0 must be an object'),
])
def test_parts_of_the_wrong_kind_are_named(tmp_path: Path, changes: dict, message: str) -> None:
    path = Path(write(tmp_path, [annotation()]))
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(DataError, match=f'people.json: {message}'):
        DATASETS.build(dict(type='CocoPoseDataset', ann_file='people.json', data_root=str(tmp_path)))
