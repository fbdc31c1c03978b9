"""COCO annotation files: read, and asked for their entries.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.json_files import read_json
from sapiens2.utils.suggest import unknown_name

# What an entry may be asked to be; a number must be finite, too, and neither true nor false.
KINDS: dict[str, tuple[type, ...]] = {
    'text': (str,), 'number': (int, float), 'number or text': (int, str), 'list': (list,)}
_ARTICLES = {'image': 'an', 'annotation': 'an', 'category': 'a'}
_LARGEST = 1e15  # of the numbers in an annotation, areas for instance
_LARGEST_ID = 2**63 - 1


def read_coco(path: str, lists: Iterable[str] = ('images', 'annotations')) -> dict[str, Any]:
    """Read an annotation file and check that it holds the named lists.

    Raises:
        DataError: naming the file and what it lacks.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(Fault(Kind.WRONG_TYPE, path, 'an annotation file is an object with images and annotations, '
                              f'this is a {type(content).__name__}', remedy='a list of detections goes into bbox_file'))
    for name in lists:
        objects(entry(content, name, path), f'{path}: {name}')
    return content


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """``value``, if it is a list of JSON objects, or an error that says ``what`` is not."""
    if not isinstance(value, list):
        raise DataError(Fault(Kind.WRONG_TYPE, '', f'{what} must be a list of objects, this is {value!r:.40}'))
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise DataError(Fault(Kind.WRONG_TYPE, '', f'{what} {number} must be an object, this is {item!r:.40}'))
    return value


def entry(record: dict[str, Any], key: str, where: Union[Place, str], kind: Optional[str] = None) -> Any:
    """``record[key]``, or an error that says ``where`` it is missing or not of ``kind``, one of ``KINDS``."""
    if key not in record:
        raise DataError(Fault(Kind.MISSING_FIELD, where, unknown_name(key, record, 'field') + f' It must have {key!r}',
                              key))
    value = record[key]
    if kind is not None and (not isinstance(value, KINDS[kind]) or isinstance(value, bool)):
        raise DataError(Fault(Kind.WRONG_TYPE, where, f'{key} must be a {kind}, this is {value!r:.40}', key))
    if kind == 'number' and not abs(value) < _LARGEST:
        raise DataError(Fault(Kind.WRONG_TYPE, where, f'{key} must be a number below {_LARGEST:g}, this is '
                              f'{value!r:.40}', key))
    if kind == 'number or text' and isinstance(value, int) and abs(value) > _LARGEST_ID:
        raise DataError(Fault(Kind.WRONG_TYPE, where, f'{key} must fit into 64 bits, this is {value!r:.40}', key,
                              'write it as text'))
    return value


def new_place(record: dict[str, Any], what: str, path: str, ids: Container[Any]) -> Place:
    """Where ``record``, an image or annotation of the file ``path``, stands in it, by its id.

    Args:
        what: 'image', 'annotation' or 'category'.
        ids: of those before it.

    Raises:
        DataError: if it has no id, or one of ``ids``.
    """
    place = Place(path, f'{what} {entry(record, "id", f"{path}: {_ARTICLES[what]} {what}", "number or text")}')
    if record['id'] in ids:
        raise DataError(Fault(Kind.DUPLICATE_ID, place, 'its id is used twice', 'id', 'give each its own'))
    return place


def is_crowd(annotation: dict[str, Any], place: Union[Place, str]) -> bool:
    """Whether ``iscrowd`` says that an annotation is of many things at once; it may be missing or null.

    Raises:
        DataError: naming ``place``, if it is none of 0, 1, false and true: '0' as text would count as true.
    """
    value = annotation.get('iscrowd')
    if value is None:
        return False
    if not isinstance(value, (int, float)) or value not in (0, 1):
        raise DataError(Fault(Kind.WRONG_TYPE, place, f'iscrowd must be 0 or 1, this is {value!r:.40}', 'iscrowd'))
    return bool(value)


def cut_box(box: Sequence[float], size: tuple[int, int]) -> np.ndarray:
    """Turn x, y, w, h, which keep the rules, into (4,) float32 x1, y1, x2, y2, cut to a picture of ``size`` (W, H)."""
    x, y, width, height = (float(value) for value in box)
    right, bottom = size[0] - 1, size[1] - 1
    corners = [min(max(value, 0), last)
               for value, last in ((x, right), (y, bottom), (x + width, right), (y + height, bottom))]
    return np.array(corners, dtype=np.float32)
