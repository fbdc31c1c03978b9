"""Labels from polygons and run lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask

from sapiens2.datasets import CocoSegDataset, DataError
from sapiens2.utils.image_io import write_image

H, W = 20, 30
PIPELINE = [dict(type='LoadImage'), dict(type='LoadFields'), dict(type='PackInputs')]
WIDE, SMALL = [[2, 2, 22, 2, 22, 18, 2, 18]], [[10, 8, 14, 8, 14, 12, 10, 12]]


def build(folder: Path, annotations: list[dict], names: tuple[str, ...] = ('Torso', 'Hair'),
          **kwargs: Any) -> CocoSegDataset:
    content = {
        'images': [dict(id=number, file_name=f'{number}.png', height=H, width=W) for number in (1, 2)],
        'categories': [dict(id=number, name=name) for number, name in enumerate(names, 1)],
        'annotations': [{'id': number, 'image_id': 1, 'category_id': 1, 'iscrowd': 0, **annotation}
                        for number, annotation in enumerate(annotations, 10)]}
    (folder / 'parts.json').write_text(json.dumps(content), encoding='utf-8')
    for number in (1, 2):
        write_image(folder / f'{number}.png', np.zeros((H, W, 3), np.uint8))
    return CocoSegDataset(ann_file='parts.json', data_root=str(folder), data_prefix=dict(img_path=''),
                          pipeline=PIPELINE, **kwargs)


def labels(dataset: CocoSegDataset, index: int = 0) -> np.ndarray:
    return dataset[index]['data_samples'].gt_fields.sem_seg.numpy()


def box(polygon: list[list[float]]) -> tuple[slice, slice]:
    x, y = polygon[0][::2], polygon[0][1::2]
    return slice(min(y), max(y)), slice(min(x), max(x))


def test_categories_become_the_classes_of_their_names(tmp_path: Path) -> None:
    dataset = build(tmp_path, [dict(segmentation=WIDE), dict(segmentation=SMALL, category_id=2)])
    index = {name: label for label, name in enumerate(dataset.metainfo['classes'])}
    expected = np.zeros((H, W), int)
    expected[box(WIDE)], expected[box(SMALL)] = index['Torso'], index['Hair']
    np.testing.assert_array_equal(labels(dataset), expected)
    assert not labels(dataset, 1).any() and dataset[1]['data_samples'].img_id == 2


def test_smallest_lies_on_top_or_the_last(tmp_path: Path) -> None:
    annotations = [dict(segmentation=SMALL, category_id=2), dict(segmentation=WIDE)]
    by_area, by_order = build(tmp_path, annotations), build(tmp_path, annotations, overlaps='order')
    assert labels(by_area)[10, 12] == by_area.labels['Hair'] and labels(by_order)[10, 12] == by_area.labels['Torso']
    crowd = build(tmp_path, [dict(segmentation=WIDE), dict(segmentation=SMALL, iscrowd=1)], overlaps='order')
    assert labels(crowd)[10, 12] == crowd.labels['Torso']  # crowds never cover what has its own annotation
    crowd = build(tmp_path, [dict(segmentation=WIDE, iscrowd=1), dict(segmentation=SMALL)])
    assert labels(crowd)[3, 3] == 255 and labels(crowd)[10, 12] == crowd.labels['Torso']


@pytest.mark.parametrize('compressed', [True, False])
def test_run_lengths_give_the_mask_that_was_encoded(compressed: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for density in (0.02, 0.5, 1.0):
        mask = (rng.random((H, W)) < density).astype(np.uint8)
        encoded = coco_mask.encode(np.asfortranarray(mask))
        counts: Any = encoded['counts'].decode()
        if not compressed:
            edges = np.flatnonzero(np.diff(mask.ravel(order='F'), prepend=0)).tolist()
            counts = np.diff([0, *edges, mask.size]).tolist()
        dataset = build(tmp_path, [dict(segmentation=dict(size=[H, W], counts=counts))])
        np.testing.assert_array_equal(labels(dataset) > 0, mask)


def test_several_polygons_are_one_thing(tmp_path: Path) -> None:
    found = labels(build(tmp_path, [dict(segmentation=[*SMALL, [20, 0, 28, 0, 28, 6, 20, 6]])]))
    assert found[10, 12] == found[3, 24] > 0 and found[10, 24] == 0


def test_people_as_one_class(tmp_path: Path) -> None:
    annotations = [dict(segmentation=WIDE), dict(segmentation=SMALL, category_id=2)]
    person = build(tmp_path, annotations, ('person', 'kite'), classes=['Background', 'person'], categories=['person'])
    assert np.unique(labels(person)).tolist() == [0, 1] and labels(person)[10, 12] == 1
    negative = build(tmp_path, annotations, ('person', 'kite'), categories=['person'], label_map=dict(person=None))
    assert np.unique(labels(negative)).tolist() == [0, 255]


def test_map_by_names_background_and_empty_pictures(tmp_path: Path) -> None:
    dataset = build(tmp_path, [dict(segmentation=WIDE), dict(segmentation=SMALL, category_id=2)], ('upper', 'Hair'),
                    label_map=dict(upper='Torso', Hair=None), background='ignore', keep_empty=False)
    found = labels(dataset)
    assert len(dataset) == 1 and found[0, 0] == 255 and found[10, 12] == 255
    assert found[3, 3] == dataset.labels['Torso']
    assert labels(build(tmp_path, [], background='Apparel'))[0, 0] == 1


@pytest.mark.parametrize('annotation, message', [
    (dict(), "'segmentation'"),
    (dict(segmentation=[]), r'segmentation is \[\]; give polygons'),
    (dict(segmentation=[[1, 2, 3, 4]]), 'polygon of 4 numbers'),
    (dict(segmentation=[[1, 2, 3, 4, 5, 6, 7]]), 'polygon of 7 numbers'),
    (dict(segmentation=[1, 2, 3, 4, 5, 6]), 'polygon of 1 numbers'),
    (dict(segmentation=[[1, 2, 'x', 4, 5, 6]]), 'no list of numbers'),
    (dict(segmentation=[['1', '2', '3', '4', '5', '6']]), 'no list of numbers'),
    (dict(segmentation=dict(size=[H, W], counts=['600'])), 'counts'),
    (dict(segmentation=[[1, 2, float('nan'), 4, 5, 6]]), r'corner at \[nan, 4.0\]'),
    (dict(segmentation=[[1, 2, 1e9, 4, 5, 6]]), 'far outside the picture of 30 x 20'),
    (dict(segmentation=dict(size=[W, H], counts=[600])), r'size \(H, W\) \[30, 20\], the picture has \[20, 30\]'),
    (dict(segmentation=dict(size=[H, W], counts=[5, 7])), 'counts of 12 pixels in all, the picture has 600'),
    (dict(segmentation=dict(size=[H, W], counts=[-5, 605])), 'counts from -5 to 605'),
    (dict(segmentation=dict(size=[H, W], counts='06')), 'counts of 6 pixels'),
    (dict(segmentation=dict(size=[H, W], counts='')), "counts ''"),
    (dict(segmentation=dict(size=[H, W], counts='~')), "counts '~'"),
    (dict(segmentation=dict(size=[H, W])), 'counts None'),
    (dict(segmentation=WIDE, category_id=9), 'category_id 9 is not among the categories'),
    (dict(segmentation=WIDE, image_id=9), 'image_id 9 is not among the images'),
])
def test_bad_annotation_is_named(annotation: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf'parts.json: annotation 10: .*{message}'):
        labels(build(tmp_path, [annotation]))


def test_unknown_names_are_helped(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"annotation 10: unknown class: 'Hairs'. Did you mean 'Hair'.*label_map"):
        build(tmp_path, [dict(segmentation=WIDE)], ('Hairs',))
    with pytest.raises(DataError, match=r"label_map\['Torso'\]: unknown class: 'Tors'. Did you mean 'Torso'"):
        build(tmp_path, [], label_map=dict(Torso='Tors'))
    with pytest.raises(DataError, match="label_map: unknown category of .*'Tors'. Did you mean 'Torso'"):
        build(tmp_path, [], label_map=dict(Tors='Torso'))
    with pytest.raises(DataError, match="overlaps: unknown rule: 'size'"):
        build(tmp_path, [], overlaps='size')
