"""Facts of people in photographs, from annotations in COCO's format."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from projects.xtuner_llava.facts import Person, Picture, face_seen, from_left_to_right, raised, shown
from sapiens2.datasets.coco_images import image_of, read_images
from sapiens2.datasets.coco_json import cut_box, entry, is_crowd, new_place, read_coco
from sapiens2.datasets.errors import DataError, Fault, Kind, Place, raise_first
from sapiens2.datasets.metainfo import COCO17_NAMES
from sapiens2.datasets.rules.people import box_faults

_PERSON = 1  # category of COCO


def coco_pictures(annotations: Path, folder: Path) -> Iterator[Picture]:
    """The pictures of an annotation file with people's boxes and, where there are some, COCO's 17 key points.

    Pictures with a crowd are left out, since nobody has counted the people in it. What is said of hands, and of how
    much of a person is shown, is as good as the labels: COCO leaves hidden points out where they cannot be guessed.

    Args:
        annotations: COCO JSON.
        folder: what its file names are relative to.

    Raises:
        DataError: naming file, annotation, field and remedy.
    """
    path = str(annotations)
    content = read_coco(path)
    images: dict[Any, dict[str, Any]] = {}
    raise_first(read_images(content['images'], path, '', images))
    people: defaultdict[Any, list[Person]] = defaultdict(list)
    crowds, ids = set(), set()
    for annotation in content['annotations']:
        place = new_place(annotation, 'annotation', path, ids)
        ids.add(annotation['id'])
        if annotation.get('category_id', _PERSON) != _PERSON:
            continue
        image = image_of(annotation, place, path, images)
        if is_crowd(annotation, place):
            crowds.add(image['img_id'])
        else:
            people[image['img_id']].append(_person(annotation, (image['width'], image['height']), place))
    for image_id, image in images.items():
        if image_id in crowds:
            continue
        if not os.path.isfile(folder / image['img_path']):
            raise DataError(Fault(Kind.UNREADABLE, Place(path, f'image {image_id}'),
                                  f'{folder / image["img_path"]} is missing', 'file_name',
                                  'name the folder of the pictures with --images'))
        yield Picture(image['img_path'], from_left_to_right(people[image_id]))


def _person(annotation: dict[str, Any], size: tuple[int, int], place: Place) -> Person:
    box = entry(annotation, 'bbox', place)
    raise_first(box_faults(box, size, place))
    x1, y1, x2, y2 = (float(value) for value in cut_box(box, size))
    shares = x1 / size[0], y1 / size[1], x2 / size[0], y2 / size[1]
    values = annotation.get('keypoints') or []
    if not any(values[2::3]):
        return Person(shares)
    if len(values) < 3 * len(COCO17_NAMES):
        raise DataError(Fault(Kind.WRONG_COUNT, place, f'keypoints must hold {3 * len(COCO17_NAMES)} numbers at least, '
                              f'this holds {len(values)}', 'keypoints'))
    points = {name: tuple(values[3 * index:3 * index + 3]) for index, name in enumerate(COCO17_NAMES)}
    return Person(shares, shown(points), face_seen(points), raised(points))
