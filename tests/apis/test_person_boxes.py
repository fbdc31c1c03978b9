"""Boxes of people: file layouts, matching with images, checks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sapiens2.apis import box_finder as finders
from sapiens2.apis.box_finder import box_finder
from sapiens2.apis.box_table import load_boxes
from sapiens2.apis.person_boxes import box_fault
from sapiens2.detectors.base import PersonDetector, people_inside


def _coco(images, annotations, categories=None):
    content = {'images': images, 'annotations': annotations}
    if categories is not None:
        content['categories'] = categories
    return content


def _write(path: Path, content) -> Path:
    path.write_text(json.dumps(content), encoding='utf-8')
    return path


def test_annotations_are_matched_by_file_name_and_turned_into_corners(tmp_path):
    path = _write(tmp_path / 'boxes.json', _coco(
        [{'id': 7, 'file_name': 'val/a.jpg', 'height': 40, 'width': 30}, {'id': 8, 'file_name': 'b.jpg'}],
        [{'image_id': 7, 'bbox': [1, 2, 10, 20], 'category_id': 1},
         {'image_id': 7, 'bbox': [3, 4, 5, 6], 'category_id': 1, 'iscrowd': 1},
         {'image_id': 7, 'bbox': [3, 4, 5, 6], 'category_id': 18}],
        [{'id': 1, 'name': 'person'}, {'id': 18, 'name': 'dog'}]))
    table = load_boxes(path)
    people = table.find(Path('/somewhere/val/a.jpg'))
    assert people.boxes.tolist() == [[1, 2, 11, 22]]
    assert people.scores.tolist() == [1]
    assert people.image_size == (40, 30)
    assert table.find(Path('/elsewhere/a.jpg')).boxes.tolist() == people.boxes.tolist()
    assert len(table.find(Path('b.jpg')).boxes) == 0
    assert table.find(Path('c.jpg')) is None


def test_a_crowd_that_is_marked_in_text_is_an_error(tmp_path):
    path = _write(tmp_path / 'boxes.json', _coco(
        [{'id': 1, 'file_name': 'a.jpg'}], [{'image_id': 1, 'bbox': [1, 2, 10, 20], 'iscrowd': '0'}]))
    with pytest.raises(ValueError, match="boxes.json: entry 0: iscrowd must be 0 or 1, this is '0'"):
        load_boxes(path)


def test_the_folder_tells_images_of_one_name_apart(tmp_path):
    path = _write(tmp_path / 'boxes.json', _coco(
        [{'id': 1, 'file_name': 'left/a.jpg'}, {'id': 2, 'file_name': 'right/a.jpg'}],
        [{'image_id': 1, 'bbox': [0, 0, 1, 1]}, {'image_id': 2, 'bbox': [0, 0, 2, 2]}]))
    table = load_boxes(path)
    assert table.find(Path('/data/right/a.jpg')).boxes.tolist() == [[0, 0, 2, 2]]
    with pytest.raises(ValueError, match='several images are called .*left/a.jpg, right/a.jpg'):
        table.find(Path('/data/a.jpg'))


def test_names_match_whatever_their_unicode_form(tmp_path):
    path = _write(tmp_path / 'boxes.json', _coco([{'id': 1, 'file_name': 'e\u0301t\u00e9.jpg'}],
                                                 [{'image_id': 1, 'bbox': [0, 0, 1, 1]}]))
    assert load_boxes(path).find(Path('\u00e9te\u0301.jpg')) is not None


def test_detections_are_matched_by_id_and_filtered_by_score(tmp_path):
    path = _write(tmp_path / 'det.json', [
        {'image_id': 785, 'bbox': [0, 0, 4, 4], 'score': 0.9, 'category_id': 1},
        {'image_id': 785, 'bbox': [0, 0, 5, 5], 'score': 0.1, 'category_id': 1},
        {'image_id': 785, 'bbox': [0, 0, 6, 6], 'score': 0.9, 'category_id': 3}])
    people = load_boxes(path, score_thr=0.3).find(Path('000000000785.jpg'))
    assert people.boxes.tolist() == [[0, 0, 4, 4]]
    assert people.scores.tolist() == [0.9]
    assert people.below_threshold == 1


def test_malformed_boxes_become_not_a_number(tmp_path):
    path = _write(tmp_path / 'boxes.json', [{'image_id': 'a', 'bbox': [1, 2]}, {'image_id': 'a', 'bbox': None},
                                            {'image_id': 'a', 'bbox': ['x', 0, 1, 1]}])
    assert np.isnan(load_boxes(path).find(Path('a.png')).boxes).any(axis=1).all()


@pytest.mark.parametrize('content', ['not json', '3', '{"images": []}', '[1, 2]'])
def test_other_files_are_refused_by_name(tmp_path, content):
    path = tmp_path / 'other.json'
    path.write_text(content)
    with pytest.raises(ValueError, match='other.json.*COCO'):
        load_boxes(path)


def test_an_entry_without_box_is_named(tmp_path):
    path = _write(tmp_path / 'boxes.json', [{'image_id': 1, 'bbox': [0, 0, 1, 1]}, {'image_id': 1}])
    with pytest.raises(ValueError, match='entry 1 lacks'):
        load_boxes(path)


@pytest.mark.parametrize('box, fault', [
    ([1, 1, 5, 5], None),
    ([-10, -10, 5, 5], None),
    ([5, 5, 100, 100], None),
    ([np.nan, 0, 5, 5], 'finite'),
    ([0, 0, np.inf, 5], 'finite'),
    ([3, 3, 3, 8], 'empty'),
    ([8, 3, 3, 8], 'empty'),
    ([20, 0, 30, 5], 'outside the image of 20 x 10'),
    ([-5, 0, 0, 5], 'outside'),
    ([0, 10, 5, 15], 'outside'),
])
def test_box_fault(box, fault):
    found = box_fault(np.array(box, dtype=float), height=10, width=20)
    assert found is None if fault is None else fault in found


class Detector(PersonDetector):
    """Finds one person for sure, and another perhaps."""

    def __call__(self, pictures):
        return [people_inside([[0, 0, 4, 6], [5, 5, 9, 9]], [0.9, 0.2], picture.shape[:2]) for picture in pictures]


def test_finder_takes_boxes_or_the_whole_image():
    with pytest.raises(ValueError, match='give one of them'):
        box_finder(np.zeros((1, 4)), True, [None])


def test_finder_without_boxes_asks_the_default_detector(monkeypatch):
    monkeypatch.setattr(finders, 'FacePeople', Detector)
    people = box_finder(None, False, [None], 0.3).find(0, None, np.zeros((10, 20, 3), np.uint8))
    assert people.boxes.tolist() == [[0, 0, 4, 6]] and people.below_threshold == 1

    def missing(self):
        raise ImportError('that needs a package')

    monkeypatch.setattr(Detector, 'setup', missing)
    with pytest.raises(ValueError, match='(?s)boxes.*--detector.*whole_image.*that needs a package'):
        box_finder(None, False, [None])


def test_finder_with_a_detector():
    finder = box_finder(Detector(), False, [Path('a.jpg')])
    assert finder.source == 'Detector'
    assert len(finder.find(0, Path('a.jpg'), np.zeros((10, 20, 3), np.uint8)).boxes) == 2


def test_finder_with_the_whole_image():
    finder = box_finder(None, True, [None])
    assert finder.find(0, None, np.zeros((10, 20, 3), np.uint8)).boxes.tolist() == [[0, 0, 20, 10]]


def test_finder_with_arrays():
    finder = box_finder([np.array([[0, 0, 1, 1]]), []], False, [None, None])
    assert finder.find(0, None, np.zeros((5, 5, 3), np.uint8)).boxes.tolist() == [[0, 0, 1, 1]]
    assert finder.find(1, None, np.zeros((5, 5, 3), np.uint8)).boxes.shape == (0, 4)
    with pytest.raises(ValueError, match='2 arrays for 1 images'):
        box_finder([np.zeros((1, 4)), np.zeros((1, 4))], False, [None])
    with pytest.raises(ValueError, match=r'boxes\[0\] has shape \(1, 5\)'):
        box_finder(np.zeros((1, 5)), False, [None])


def test_finder_with_a_file(tmp_path):
    path = _write(tmp_path / 'boxes.json', _coco([{'id': 1, 'file_name': 'a.jpg', 'height': 40, 'width': 30}],
                                                 [{'image_id': 1, 'bbox': [0, 0, 1, 1]}]))
    finder = box_finder(path, False, [Path('a.jpg'), Path('b.jpg')])
    assert finder.source == 'boxes.json'
    assert finder.find(0, Path('a.jpg'), np.zeros((40, 30, 3), np.uint8)).boxes.shape == (1, 4)
    assert finder.find(1, Path('b.jpg'), np.zeros((40, 30, 3), np.uint8)) is None
    # The boxes of an image on its side do not fit the image that stands upright.
    with pytest.raises(ValueError, match='a.jpg.*30 x 40 pixels, this one has 40 x 30'):
        finder.find(0, Path('a.jpg'), np.zeros((30, 40, 3), np.uint8))
    with pytest.raises(ValueError, match='knows none of the 1 images'):
        box_finder(path, False, [Path('c.jpg')])
    with pytest.raises(ValueError, match='in memory'):
        box_finder(path, False, [None])


_IMAGE = {'id': 1, 'file_name': 'a.jpg'}
_BOX = {'image_id': 1, 'bbox': [0, 0, 9, 9]}


@pytest.mark.parametrize('content, message', [
    ({'images': [_IMAGE], 'annotations': None}, 'annotations must be a list'),
    ({'images': [_IMAGE], 'annotations': [_BOX, 3]}, 'annotations 1 must be an object'),
    ({'images': [1], 'annotations': []}, 'images 0 must be an object'),
    ({'images': [_IMAGE], 'annotations': [], 'categories': ['person']}, 'categories 0 must be an object'),
    ({'images': [{'id': 1, 'file_name': 3}], 'annotations': []}, 'image 0 lacks'),
    ({'images': [{'id': 1, 'file_name': ''}], 'annotations': []}, 'image 0 lacks'),
    ({'images': [{**_IMAGE, 'height': 'x', 'width': 3}], 'annotations': []}, 'image 1: height must be a number'),
    *(([{**_BOX, 'score': score}], 'entry 0: score must be a number') for score in ('x', None, [1], float('nan'))),
])
def test_fields_of_the_wrong_kind_are_named(tmp_path, content, message):
    path = _write(tmp_path / 'boxes.json', content)
    with pytest.raises(ValueError, match=f'boxes.json: {message}'):
        load_boxes(path)


def test_a_byte_order_mark_and_deep_nesting(tmp_path):
    path = tmp_path / 'boxes.json'
    path.write_text(json.dumps([_BOX]), encoding='utf-8-sig')
    assert load_boxes(path).by_id['1'].boxes.tolist() == [[0, 0, 9, 9]]
    path.write_text('[' * 100_000)
    with pytest.raises(ValueError, match='boxes.json: .*no JSON'):
        load_boxes(path)


def test_a_detector_that_found_nobody(tmp_path):
    finder = box_finder(_write(tmp_path / 'boxes.json', []), False, [Path('a.jpg')])
    assert finder.find(0, Path('a.jpg'), np.zeros((40, 30, 3), np.uint8)) is None


def test_a_box_that_vanishes_in_rounding_is_no_box():
    assert box_fault(np.array([10, 10, 10 + 1e-9, 20]), 40, 30) == 'is too narrow'
    assert box_fault(np.array([-1e308, -1e308, 1e307, 1e307]), 40, 30) is None
