"""Each way in which annotations of people may be wrong: the check names it, and training raises the same text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapiens2.apis.data_check.run import make_plan, read_all
from sapiens2.apis.data_check.sources import sources_of
from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.metainfo import COCO17_NAMES
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import ImageReadError, write_image

WIDTH, HEIGHT = 60, 80
QUICK = {'serialize_data': False}  # which collects garbage, a third of a second
POINTS = [value for number in range(17) for value in (10.0 + number, 20.0 + number, 2)]


def person(**changes: Any) -> dict[str, Any]:
    return {'id': 7, 'image_id': 1, 'category_id': 1, 'bbox': [5, 10, 40, 60], 'iscrowd': 0, 'area': 900.0,
            'keypoints': list(POINTS), **changes}


def point(number: int, x: float, y: float, v: float) -> list[float]:
    """The points with one replaced."""
    return [*POINTS[:3 * number], x, y, v, *POINTS[3 * number + 3:]]


def write(folder: Path, *people: dict[str, Any], **changes: Any) -> str:
    content = {'images': [{'id': number, 'file_name': f'{number}.png', 'width': WIDTH, 'height': HEIGHT}
                          for number in (1, 2)],
               'annotations': list(people), 'categories': [{'id': 1, 'name': 'person', 'keypoints': COCO17_NAMES}],
               **changes}
    for number in (1, 2):
        write_image(folder / f'{number}.png', np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    path = folder / 'people.json'
    path.write_text(json.dumps(content))
    return str(path)


def found(path: str) -> list[Fault]:
    plan = make_plan(sources_of(path, options=QUICK))
    return [*plan.faults, *(fault for faults in read_all(plan, 0) for fault in faults)]


def train(path: str) -> None:
    source, = sources_of(path, options=QUICK)
    dataset = DATASETS.build(source.config)
    for index in range(len(dataset)):
        dataset[index]


@pytest.mark.parametrize('changes, kind', [
    (dict(keypoints=point(3, WIDTH + 20, 5, 2)), Kind.POINT_OUTSIDE),
    (dict(keypoints=point(3, WIDTH + 20, 5, 1)), Kind.POINT_BEYOND),
    (dict(keypoints=point(3, 5, 5, 3)), Kind.POINT_VISIBILITY),
    (dict(keypoints=point(3, 5, 5, 0.5)), Kind.POINT_VISIBILITY),
    (dict(keypoints=point(3, 5, 5, -1)), Kind.POINT_VISIBILITY),
    (dict(keypoints=point(3, float('nan'), 5, 2)), Kind.NOT_FINITE),
    (dict(keypoints=point(3, 5, 5, float('nan'))), Kind.POINT_VISIBILITY),
    (dict(keypoints=POINTS[:-1]), Kind.WRONG_COUNT),
    (dict(keypoints=['x'] * 51), Kind.WRONG_TYPE),
    (dict(bbox=[5, 10, 0, 60]), Kind.BOX_EMPTY),
    (dict(bbox=[70, 10, 9, 60]), Kind.BOX_OUTSIDE),
    (dict(bbox=[-20, 10, 60, 60]), Kind.BOX_BEYOND),
    (dict(bbox=[5, 10, float('inf'), 60]), Kind.NOT_FINITE),
    (dict(bbox=[5, 10, 60]), Kind.WRONG_COUNT),
    (dict(image_id=9), Kind.UNKNOWN_IMAGE),
    (dict(area='large'), Kind.WRONG_TYPE),
])
def test_faults_of_an_annotation(tmp_path: Path, changes: dict[str, Any], kind: Kind) -> None:
    path = write(tmp_path, person(**changes), person(id=8))
    fault, = found(path)
    assert fault.kind is kind and fault.place == (path, 'annotation 7') and 'annotation 7' in str(fault)
    if fault.warning:
        train(path)
    else:
        with pytest.raises(DataError) as caught:
            train(path)
        assert str(caught.value) == str(fault) and caught.value.fault == fault


def test_all_faults_are_found_and_the_sound_people_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, person(bbox=[5, 10, 0, 60], keypoints=point(3, WIDTH + 20, 5, 3)), person(id=8),
                 person(id=8, image_id=2), {'id': 9, 'image_id': 1, 'keypoints': POINTS})
    assert [fault.kind for fault in found(path)] == [
        Kind.POINT_VISIBILITY, Kind.POINT_BEYOND, Kind.BOX_EMPTY, Kind.DUPLICATE_ID, Kind.MISSING_FIELD]


def test_confidences_are_allowed_where_a_network_labelled(tmp_path: Path) -> None:
    hand = [value for _ in range(21) for value in (9.0, 9.0, 0.4)]
    parts = {'foot_kpts': POINTS[:18], 'foot_valid': True, 'face_kpts': [], 'face_valid': False, 'lefthand_kpts': hand,
             'lefthand_valid': True, 'righthand_kpts': [], 'righthand_valid': False}
    assert found(write(tmp_path, person(**parts))) == []
    parts['foot_kpts'] = [9.0, 9.0, 0.4, *POINTS[3:18]]
    fault, = found(write(tmp_path, person(**parts)))
    assert fault.kind is Kind.POINT_VISIBILITY and 'keypoints 17 have v = 0.4' in str(fault)


def image(number: int, **changes: Any) -> dict[str, Any]:
    return {'id': number, 'file_name': f'{number}.png', 'width': WIDTH, 'height': HEIGHT, **changes}


@pytest.mark.parametrize('images, kind', [
    ([image(1), image(2, id=1)], Kind.DUPLICATE_ID),
    ([image(1), image(2, file_name='1.png')], Kind.SAME_FILE),
    ([image(1), image(2, width=0)], Kind.WRONG_TYPE),
    ([image(1), {'id': 2, 'file_name': '2.png', 'width': 3}], Kind.MISSING_FIELD),
    ([image(1, width=HEIGHT, height=WIDTH), image(2)], Kind.SIZE),
    ([image(1, file_name='gone.png'), image(2)], Kind.UNREADABLE),
])
def test_faults_of_images(tmp_path: Path, images: list[dict[str, Any]], kind: Kind) -> None:
    path = write(tmp_path, person(bbox=[5, 10, 40, 40]), images=images)
    fault, = found(path)
    assert fault.kind is kind
    if not fault.warning:
        with pytest.raises((DataError, ImageReadError)) as caught:
            train(path)
        assert str(caught.value) == str(fault)


def test_a_picture_of_many_people_is_read_once(tmp_path: Path) -> None:
    plan = make_plan(sources_of(write(tmp_path, *(person(id=number) for number in range(5))), options=QUICK))
    assert len(plan.samples) == 1


def test_a_picture_listed_twice_is_held_against_both_entries(tmp_path: Path) -> None:
    images = [image(1), image(2, file_name='1.png', width=99)]
    path = write(tmp_path, person(), person(id=8, image_id=2), images=images)
    assert [fault.kind for fault in found(path)] == [Kind.SAME_FILE, Kind.SIZE]
    with pytest.raises(DataError, match='height, width'):
        train(path)


@pytest.mark.parametrize('content', ['{', '[]', '{"images": []}'])
def test_files_that_are_no_annotations(tmp_path: Path, content: str) -> None:
    path = tmp_path / 'people.json'
    path.write_text(content)
    fault, = found(str(path))
    assert 'people.json' in str(fault) and not fault.warning


def test_no_people_is_one_fault(tmp_path: Path) -> None:
    fault, = found(write(tmp_path))
    assert fault.kind is Kind.EMPTY and 'people.json' in str(fault)
    fault, = found(write(tmp_path, person(image_id=9)))
    assert fault.kind is Kind.UNKNOWN_IMAGE  # that nothing is left follows from it


def test_a_pipeline_that_reads_nothing_is_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, person())
    source, = sources_of(path, options={**QUICK, 'pipeline': [{'type': 'mmcv.LoadImageFromFile'}]})
    fault, = make_plan([source]).faults
    assert fault.kind is Kind.UNCHECKED and fault.warning and 'begin with LoadImage' in str(fault)
