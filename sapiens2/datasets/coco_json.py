"""COCO annotation files: read, and turned from any set of key points into one that a model has.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Jin et al., "Whole-Body Human Pose Estimation in
the Wild", ECCV 2020.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.json_files import numbers, read_json
from sapiens2.datasets.metainfo import TABLE_OF_COUNT, load_metainfo
from sapiens2.datasets.rules.people import point_faults
from sapiens2.utils.suggest import unknown_name

# What an entry may be asked to be; a number must be finite, too, and neither true nor false.
KINDS: dict[str, tuple[type, ...]] = {
    'text': (str,), 'number': (int, float), 'number or text': (int, str), 'list': (list,)}
_LARGEST = 1e15  # of the numbers in an annotation, areas for instance
KEYPOINT_SETS = ('coco', 'coco_wholebody', 'sapiens308')
# COCO-WholeBody: list of x, y, v -> number of points and the flag that says whether they are labelled, in the order of
# its 133 points.
_WHOLEBODY_PARTS = {
    'keypoints': (17, None), 'foot_kpts': (6, 'foot_valid'), 'face_kpts': (68, 'face_valid'),
    'lefthand_kpts': (21, 'lefthand_valid'), 'righthand_kpts': (21, 'righthand_valid')}
_WHOLEBODY_COUNT = 133
# Points after these were labelled by a network, and their v may be its confidence.
_WHOLEBODY_MANUAL = 23


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
    if kind is not None and (not isinstance(value, KINDS[kind]) or isinstance(value, bool)
                             or kind == 'number' and not abs(value) < _LARGEST):
        raise DataError(Fault(Kind.WRONG_TYPE, where, f'{key} must be a {kind}, this is {value!r:.40}', key))
    return value


def new_place(record: dict[str, Any], what: str, path: str, ids: Container[Any]) -> Place:
    """Where ``record``, an image or annotation of the file ``path``, stands in it, by its id.

    Args:
        what: 'image' or 'annotation'.
        ids: of those before it.

    Raises:
        DataError: if it has no id, or one of ``ids``.
    """
    place = Place(path, f'{what} {entry(record, "id", f"{path}: an {what}", "number or text")}')
    if record['id'] in ids:
        raise DataError(Fault(Kind.DUPLICATE_ID, place, 'its id is used twice', 'id', 'give each its own'))
    return place


def _length(value: Any) -> int:
    """Of a list; 0 of anything else."""
    return len(value) if isinstance(value, list) else 0


class KeypointReader:
    """Reads the points of annotations in one set and gives them in another.

    Args:
        content: the annotation file, from whose categories the names come when ``keypoint_set`` is None.
        keypoint_set: one of ``KEYPOINT_SETS``, or None.
        target: name of a table of key points in ``load_metainfo``.
        path: of the file, for errors.

    Raises:
        DataError: if the names are unknown, or none of them is a point of ``target``.
    """

    def __init__(self, content: dict[str, Any], keypoint_set: Optional[str], target: str, path: str) -> None:
        if keypoint_set is not None and keypoint_set not in KEYPOINT_SETS:
            raise DataError(unknown_name(keypoint_set, KEYPOINT_SETS, 'keypoint_set'))
        self.path = path
        table = load_metainfo(target)
        self.count = len(table['keypoint_names'])
        if keypoint_set == 'coco_wholebody' or keypoint_set is None and _is_wholebody(content['annotations']):
            self.source_count = _WHOLEBODY_COUNT
            pairs = table.get('wholebody133_to_308') or dict(enumerate(table['coco17_indices']))
        else:
            names = self._names(content, keypoint_set)
            self.source_count = len(names)
            index = {name: i for i, name in enumerate(table['keypoint_names'])}
            pairs = {i: index[name] for i, name in enumerate(names) if name in index}
            if not pairs:
                raise DataError(Fault(Kind.MISSING_FIELD, path, f'none of its key points is one of {target!r}: '
                                      + unknown_name(names[0], index, 'key point'), 'categories'))
        self.sources = np.array(list(pairs), dtype=int)
        self.targets = np.array(list(pairs.values()), dtype=int)

    def _names(self, content: dict[str, Any], keypoint_set: Optional[str]) -> Sequence[str]:
        if keypoint_set is not None:
            return load_metainfo(keypoint_set)['keypoint_names']
        for category in objects(content.get('categories') or [], f'{self.path}: categories'):
            if category.get('keypoints'):
                return category['keypoints']
        lengths = {_length(annotation.get('keypoints')) for annotation in content['annotations']}
        for count, table in TABLE_OF_COUNT.items():
            if 3 * count in lengths:
                return load_metainfo(table)['keypoint_names']
        raise DataError(Fault(Kind.MISSING_FIELD, self.path, 'its categories do not name the key points', 'categories',
                              f'set keypoint_set to one of {", ".join(KEYPOINT_SETS)}'))

    def read(self, annotation: dict[str, Any]) -> np.ndarray:
        """The (N, 3) float32 x, y, v of all points of the source, as they are annotated.

        Raises:
            DataError: naming file, annotation and field, if the number of values is wrong or one is no number.
        """
        place = Place(self.path, f'annotation {annotation.get("id")}')
        parts = [('keypoints', self.source_count, None)]
        if self.source_count == _WHOLEBODY_COUNT and _length(annotation.get('keypoints')) != 3 * _WHOLEBODY_COUNT:
            parts = [(field, count, flag) for field, (count, flag) in _WHOLEBODY_PARTS.items()]
        return np.concatenate([self._part(annotation, *part, place) for part in parts])

    @staticmethod
    def _part(annotation: dict[str, Any], field: str, count: int, flag: Optional[str], place: Place) -> np.ndarray:
        if flag is not None and not annotation.get(flag, field in annotation):
            return np.zeros((count, 3), dtype=np.float32)
        values = entry(annotation, field, place, 'list')
        if len(values) != 3 * count:
            raise DataError(Fault(Kind.WRONG_COUNT, place, f'{field} holds {len(values)} numbers; {count} key points '
                                  f'of x, y, v make {3 * count}', field, 'check keypoint_set, or the list'))
        try:
            return numbers(values, np.float32).reshape(count, 3)
        except ValueError as error:
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'{field} must hold numbers only', field)) from error

    def faults(self, points: np.ndarray, size: Optional[tuple[int, int]], place: Place) -> Iterator[Fault]:
        """What is wrong with the points that ``read`` gave, in a picture of ``size`` (W, H) if that is known."""
        fractions = np.zeros(self.source_count, dtype=bool)
        if self.source_count == _WHOLEBODY_COUNT:
            fractions[_WHOLEBODY_MANUAL:] = True
        return point_faults(points, fractions, size, place)

    def select(self, points: np.ndarray) -> np.ndarray:
        """Those of the source's points that the target has, in the order of ``targets``; zero where not labelled."""
        points = points[self.sources]
        points[~(points[:, 2] > 0)] = 0
        return points

    def expand(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All K target points: (1, K, 2) x, y and (1, K) 1 where labelled, float32; others are 0."""
        keypoints, visible = np.zeros((1, self.count, 2), np.float32), np.zeros((1, self.count), np.float32)
        keypoints[0, self.targets] = points[:, :2]
        visible[0, self.targets] = points[:, 2] > 0
        return keypoints, visible


def _is_wholebody(annotations: Sequence[dict[str, Any]]) -> bool:
    return any('foot_kpts' in annotation or _length(annotation.get('keypoints')) == 3 * _WHOLEBODY_COUNT
               for annotation in annotations[:100])


def cut_box(box: Sequence[float], size: tuple[int, int]) -> np.ndarray:
    """Turn x, y, w, h, which keep the rules, into (4,) float32 x1, y1, x2, y2, cut to a picture of ``size`` (W, H)."""
    x, y, width, height = (float(value) for value in box)
    right, bottom = size[0] - 1, size[1] - 1
    corners = [min(max(value, 0), last)
               for value, last in ((x, right), (y, bottom), (x + width, right), (y + height, bottom))]
    return np.array(corners, dtype=np.float32)
