"""Key points as JSON, in the layouts of this project, of OpenPose and of COCO."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pycocotools.coco import COCO

from sapiens2.apis.outputs import OutputOptions, collect_coco, write_result
from sapiens2.datasets.metainfo import load_metainfo

META = load_metainfo('sapiens308')
NAMES = META['keypoint_names']
IMAGE = np.zeros((20, 30, 3), np.uint8)


def people(count: int = 2, **entries) -> dict:
    rng = np.random.default_rng(count)
    return {
        'task': 'pose', 'model': 'm', 'weights': 'w', 'path': 'a/7.jpg', 'image_size': (20, 30), 'dataset_meta': META,
        'keypoints': rng.uniform(0, 20, (count, 308, 2)).astype(np.float32),
        'keypoint_scores': rng.uniform(0.3, 1, (count, 308)).astype(np.float32),
        'bboxes': np.tile([0, 0, 9, 9.], (count, 1)), 'bbox_scores': np.full(count, 0.5), 'boxes_from': 'boxes',
        'skipped_boxes': [], 'boxes_below_threshold': 0, 'message': None if count else 'no people', **entries}


def read(folder, stem='000042', options=OutputOptions(), result=None):
    files = write_result(folder, stem, IMAGE, result or people(), options)
    return json.loads(files[0].read_text(encoding='utf-8'))


def test_document_has_ids_and_time_where_there_are_any(tmp_path):
    plain = read(tmp_path)
    assert plain['schema_version'] == '1.2' and plain['image']['id'] == 42
    assert plain['frame'] is None and plain['time_s'] is None and 'track_id' not in plain['instances'][0]
    film = read(tmp_path, 'film/000003', result=people(track_ids=np.array([5, 9]), frame=3, time_s=0.125))
    assert [person['track_id'] for person in film['instances']] == [5, 9]
    assert (film['frame'], film['time_s']) == (3, 0.125)
    assert read(tmp_path, 'a/b c')['image']['id'] == 'a/b c'


def test_converted_points_name_what_is_missing(tmp_path):
    document = read(tmp_path, options=OutputOptions(keypoints=('coco17', 'wholebody133', 'openpose25')))
    converted = document['converted']
    assert {name: len(value['keypoint_names']) for name, value in converted.items()} == {
        'coco17': 17, 'wholebody133': 133, 'openpose25': 25}
    whole = converted['wholebody133']
    assert whole['missing'] == [f'face_{i}' for i in range(17) if i != 8]
    jaw = whole['keypoint_names'].index('face_0')
    assert whole['instances'][0]['keypoints'][jaw] is None and whole['instances'][0]['keypoint_scores'][jaw] == 0
    hip = converted['coco17']['instances'][1]['keypoints'][11]
    assert hip == document['instances'][1]['keypoints'][NAMES.index('left_hip')]


def test_openpose_layout(tmp_path):
    result = people(track_ids=np.array([3, 4]))
    document = read(tmp_path, options=OutputOptions(pose=('openpose',), picture=False), result=result)
    assert [path.name for path in (tmp_path / 'pose').iterdir()] == ['000042.openpose_keypoints.json']
    person = document['people'][1]
    sizes = {name: len(value) for name, value in person.items()}
    assert (sizes['pose_keypoints_2d'], sizes['face_keypoints_2d']) == (75, 210)
    assert sizes['hand_left_keypoints_2d'] == sizes['hand_right_keypoints_2d'] == 63 and person['person_id'] == [4]
    body = np.array(person['pose_keypoints_2d']).reshape(25, 3)
    points, scores = result['keypoints'][1], result['keypoint_scores'][1]
    shoulders = [NAMES.index('left_shoulder'), NAMES.index('right_shoulder')]
    assert np.allclose(body[1], [*points[shoulders].mean(axis=0), scores[shoulders].min()], atol=1e-4)
    face = np.array(person['face_keypoints_2d']).reshape(70, 3)
    assert (face[0] == 0).all() and np.allclose(face[69, :2], points[NAMES.index('l_center_of_pupil')], atol=1e-4)
    thumb = np.array(person['hand_right_keypoints_2d']).reshape(21, 3)[4]
    assert np.allclose(thumb[:2], points[NAMES.index('right_thumb4')], atol=1e-4)


def test_coco_results_of_a_run_are_whole_after_every_stop(tmp_path):
    options = OutputOptions(pose=('json', 'coco'), keypoints=('coco17', 'wholebody133'), picture=False)
    assert [path.name for path in collect_coco(tmp_path, options)] == [
        'pose_coco_coco17.json', 'pose_coco_wholebody133.json']
    assert json.loads((tmp_path / 'pose_coco_coco17.json').read_text()) == []
    for stem, count in (('b/000001', 2), ('b/000002', 0), ('b/000003', 1)):
        write_result(tmp_path, stem, IMAGE, people(count), options)
        collect_coco(tmp_path, options)
    write_result(tmp_path, 'other', IMAGE, people(), options)
    for name in ('.partial-host-1-2.json', '._other.json'):
        (tmp_path / 'pose' / name).write_bytes(b'half')
    assert len(json.loads(collect_coco(tmp_path, options)[0].read_text())) == 5
    small, whole = collect_coco(tmp_path, options, ['b/000003', 'b/000001', 'b/never'])
    records = json.loads(small.read_text())
    assert [record['image_id'] for record in records] == [3, 1, 1]
    assert all(len(record['keypoints']) == 51 and record['category_id'] == 1 for record in records)
    parts = json.loads(whole.read_text())[0]
    assert {name: len(value) // 3 for name, value in parts.items() if isinstance(value, list)} == {
        'keypoints': 17, 'foot_kpts': 6, 'face_kpts': 68, 'lefthand_kpts': 21, 'righthand_kpts': 21}
    truth = COCO()
    truth.dataset = {'images': [{'id': 1}, {'id': 3}], 'annotations': [], 'categories': [{'id': 1}]}
    truth.createIndex()
    loaded = truth.loadRes(str(small))
    assert len(loaded.getAnnIds(imgIds=[1])) == 2


def test_coco_results_of_the_308(tmp_path):
    options = OutputOptions(pose=('json', 'coco'), picture=False)
    result = people(1)
    write_result(tmp_path, '5', IMAGE, result, options)
    path, = collect_coco(tmp_path, options)
    record, = json.loads(path.read_text())
    assert path.name == 'pose_coco_sapiens308.json' and len(record['keypoints']) == 3 * 308
    assert record['score'] == pytest.approx(0.5 * result['keypoint_scores'].mean(), abs=1e-4)


def test_a_json_of_another_run_is_named(tmp_path):
    write_result(tmp_path, '5', IMAGE, people(1), OutputOptions(picture=False))
    with pytest.raises(ValueError, match=r'5\.json: holds no people with the points of coco17'):
        collect_coco(tmp_path, OutputOptions(pose=('json', 'coco'), keypoints=('coco17',)))
    assert not list(tmp_path.glob('pose_coco*')) and not list(tmp_path.glob('.partial*'))
