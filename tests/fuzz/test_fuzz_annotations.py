"""Whatever annotation files say, reading them gives samples or a ``DataError``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest
from fuzz.budget import fuzz, outcome
from fuzz.mutation import as_json, mutated_tree
from hypothesis import given

from sapiens2.apis.box_table import load_boxes
from sapiens2.apis.person_boxes import box_fault
from sapiens2.datasets import CocoPoseDataset, CocoSegDataset, DataError
from sapiens2.datasets.coco_segments import CocoSegments
from sapiens2.synth.manifest import note_options

IMAGES = [dict(id=number, file_name=f'{number}.png', height=60, width=80) for number in (1, 2)]
POSE = {
    'images': IMAGES, 'categories': [dict(id=1, name='person')],
    'annotations': [dict(id=number, image_id=1, category_id=1, iscrowd=0, bbox=[5, 6, 40, 30], area=1200.0,
                         keypoints=[10.0, 12.0, 2] * 17, num_keypoints=17) for number in (1, 2)]}
SEG = {
    'images': IMAGES, 'categories': [dict(id=1, name='Torso'), dict(id=2, name='Hair')],
    'annotations': [
        dict(id=1, image_id=1, category_id=1, iscrowd=0, segmentation=[[2, 2, 22, 2, 22, 18], [1, 1, 5, 1, 5, 5]]),
        dict(id=2, image_id=2, category_id=2, iscrowd=1, segmentation=dict(size=[60, 80], counts=[100, 200, 4500])),
        dict(id=3, image_id=2, category_id=2, segmentation=dict(size=[60, 80], counts='T3X6\\S3'))]}
DETECTIONS = [dict(image_id=1, bbox=[5, 6, 40, 30], score=0.9, category_id=1) for _ in range(2)]
OPTIONS: dict[str, Any] = dict(format=1, generation=1, size=[4, 5], seed=0, backgrounds=None)
MANIFEST = {'options': {**OPTIONS, 'backgrounds': dict(number=3, sha256='ab')}, 'versions': [dict(sapiens2='1')]}


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('annotations')


def written(folder: Path, tree: Any, name: str = 'file.json') -> str:
    (folder / name).write_bytes(as_json(tree))
    return str(folder / name)


# Built once, since the tables of 308 points and 29 classes take longer than a file.
PEOPLE = CocoPoseDataset(ann_file='none', data_prefix=dict(img_path='images'), lazy_init=True)
PARTS = CocoSegDataset(ann_file='none', data_prefix=dict(img_path='images'), lazy_init=True)


def read_people(path: str, bbox_file: Optional[str] = None) -> None:
    PEOPLE.ann_file, PEOPLE.bbox_file = path, bbox_file
    for info in PEOPLE.load_data_list():
        low, high = info['bboxes'][0, :2], info['bboxes'][0, 2:]
        assert (low >= 0).all() and (low < high).all() and np.isfinite(high).all()
        assert info['img_path'].startswith('images/') and '..' not in info['img_path'].split('/')


@fuzz(200)
@given(tree=mutated_tree(POSE))
def test_people(folder: Path, tree: Any) -> None:
    path = written(folder, tree)
    outcome(lambda: read_people(path), DataError)


@fuzz(100)
@given(tree=mutated_tree(DETECTIONS))
def test_detections(folder: Path, tree: Any) -> None:
    path, boxes = written(folder, POSE), written(folder, tree, 'boxes.json')
    outcome(lambda: read_people(path, bbox_file=boxes), DataError)


def draw_all(path: str) -> None:
    PARTS.ann_file = path
    for info in PARTS.load_data_list():
        # A picture is read before its labels are drawn, and one of another size is refused.
        if (info['height'], info['width']) == (60, 80):
            labels = CocoSegments(path, (60, 80), info['segments']).draw()
            assert labels.shape == (60, 80) and set(np.unique(labels)) <= {0, 255, *PARTS.labels.values()}


@fuzz(200)
@given(tree=mutated_tree(SEG))
def test_segments(folder: Path, tree: Any) -> None:
    path = written(folder, tree)
    outcome(lambda: draw_all(path), DataError)


def find_people(path: str) -> None:
    for name in ('1.png', '000002.png', 'x.jpg'):
        found = load_boxes(path).find(Path(name))
        for box in found.boxes if found else ():
            box_fault(box, 60, 80)


@pytest.mark.parametrize('seed', [POSE, DETECTIONS], ids=['annotations', 'detections'])
def test_boxes_for_inference(folder: Path, seed: Any) -> None:
    @fuzz(100)
    @given(tree=mutated_tree(seed))
    def run(tree: Any) -> None:
        path = written(folder, tree)
        outcome(lambda: find_people(path), ValueError)

    run()


@fuzz(100)
@given(tree=mutated_tree(MANIFEST))
def test_manifests_of_generated_people(folder: Path, tree: Any) -> None:
    path = Path(written(folder, tree, 'manifest.json'))
    outcome(lambda: note_options(path, OPTIONS, dict(sapiens2='2')), DataError)


@pytest.mark.parametrize('text', [b'[' * 200_000, b'{"images":' * 100_000, b'{"images": ' + b'9' * 10_000 + b'}',
                                  b'\xff\xfe[', b'', b'nul'])
def test_texts_that_break_parsers(folder: Path, text: bytes) -> None:
    path = folder / 'text.json'
    path.write_bytes(text)
    with pytest.raises(DataError, match='text.json'):
        read_people(str(path))
