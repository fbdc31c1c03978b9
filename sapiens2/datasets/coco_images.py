"""The images of a COCO annotation file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sapiens2.datasets.coco_json import entry, new_place
from sapiens2.datasets.errors import DataError, Fault, Kind, Place, collecting


def read_images(records: list[dict[str, Any]], ann_file: str, folder: str,
                images: dict[Any, dict[str, Any]]) -> Iterator[Fault]:
    """Fill ``images`` by id with the start of their samples: img_id, img_path, height and width.

    Args:
        records: the images of the file.
        ann_file: the file, for errors.
        folder: what their names are relative to.
        images: where they go.
    """
    ids: dict[str, Any] = {}
    for record in records:
        faults: list[Fault] = []
        with collecting(faults):
            place = new_place(record, 'image', ann_file, images)
            image = _read_image(record, place, folder)
            other = ids.setdefault(image['img_path'], image['img_id'])
            if other != image['img_id']:
                faults.append(Fault(Kind.SAME_FILE, place, f'file_name is that of image {other}, too', 'file_name'))
            images[image['img_id']] = image
        yield from faults


def _read_image(record: dict[str, Any], place: Place, folder: str) -> dict[str, Any]:
    image = {
        'img_id': record['id'],
        'img_path': os.path.join(folder, _file_name(record, place)),
        'height': int(entry(record, 'height', place, 'number')),
        'width': int(entry(record, 'width', place, 'number')),
    }
    for side in ('height', 'width'):
        if image[side] < 1:
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'{side} must be positive, this is {image[side]}', side))
    return image


def _file_name(record: dict[str, Any], place: Place) -> str:
    """The name of an image, if it can be that of a file below the folder of the images."""
    name = entry(record, 'file_name', place, 'text')
    wrong = next((words for bad, words in (
        (not name, 'is empty'),
        ('\0' in name, 'holds a NUL character, which no file can have'),
        ('\\' in name, 'holds a backslash: folders are parted by /'),
        (name.startswith('/'), 'is absolute: it must be relative to the folder of the images'),
        ('..' in name.split('/'), 'leads out of the folder of the images'),
        (not _is_text(name), 'holds half of a character (a lone surrogate)')) if bad), None)
    if wrong:
        raise DataError(Fault(Kind.WRONG_TYPE, place, f'file_name {name!r:.80} {wrong}', 'file_name',
                              'give a path relative to data_prefix.img_path'))
    return name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def image_of(record: dict[str, Any], place: Place, ann_file: str, images: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    """The image that an annotation, or a detection, belongs to.

    Raises:
        DataError: if it is none of ``images``.
    """
    image_id = entry(record, 'image_id', place, 'number or text')
    if image_id not in images:
        raise DataError(Fault(Kind.UNKNOWN_IMAGE, place, f'image_id {image_id!r} is not among the images of {ann_file}',
                              'image_id', 'remove the annotation, or add the image'))
    return images[image_id]
