"""COCO annotation files: read, and turned from any set of key points into one that a model has.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Jin et al., "Whole-Body Human Pose Estimation in
the Wild", ECCV 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo
from sapiens2.utils.suggest import unknown_name

# What an entry may be asked to be; a number must be finite, too.
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


def read_coco(path: str, lists: Iterable[str] = ('images', 'annotations')) -> dict[str, Any]:
    """Read an annotation file and check that it holds the named lists.

    Raises:
        DataError: naming the file and what it lacks.
    """
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(f'{path}: an annotation file is an object with images and annotations, this is a '
                        f'{type(content).__name__}; a list of detections goes into bbox_file')
    for name in lists:
        objects(entry(content, name, path), f'{path}: {name}')
    return content


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """``value``, if it is a list of JSON objects, or an error that says ``what`` is not."""
    if not isinstance(value, list):
        raise DataError(f'{what} must be a list of objects, this is {value!r:.40}')
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise DataError(f'{what} {number} must be an object, this is {item!r:.40}')
    return value


def entry(record: dict[str, Any], key: str, where: str, kind: Optional[str] = None) -> Any:
    """``record[key]``, or an error that says ``where`` it is missing or not of ``kind``, one of ``KINDS``."""
    if key not in record:
        raise DataError(f'{where}: ' + unknown_name(key, record, 'field') + f' It must have {key!r}')
    value = record[key]
    if kind is not None and not (isinstance(value, KINDS[kind]) and (kind != 'number' or abs(value) < _LARGEST)):
        raise DataError(f'{where}: {key} must be a {kind}, this is {value!r:.40}')
    return value


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
                raise DataError(f'{path}: none of its key points is one of {target!r}: '
                                + unknown_name(names[0], index, 'key point'))
        self.sources = np.array(list(pairs), dtype=int)
        self.targets = np.array(list(pairs.values()), dtype=int)

    def _names(self, content: dict[str, Any], keypoint_set: Optional[str]) -> Sequence[str]:
        if keypoint_set is not None:
            return load_metainfo(keypoint_set)['keypoint_names']
        for category in objects(content.get('categories') or [], f'{self.path}: categories'):
            if category.get('keypoints'):
                return category['keypoints']
        if any(_length(annotation.get('keypoints')) == 3 * len(COCO17_NAMES) for annotation in content['annotations']):
            return COCO17_NAMES
        raise DataError(f'{self.path}: its categories do not name the key points; set keypoint_set to one of '
                        + ', '.join(KEYPOINT_SETS))

    def read(self, annotation: dict[str, Any]) -> np.ndarray:
        """The (N, 3) float32 x, y, v of those source points that the target has, in the order of ``targets``.

        Raises:
            DataError: naming file, annotation and field, if the number of values is wrong or one is no number.
        """
        where = f'{self.path}: annotation {annotation.get("id")}'
        parts = [('keypoints', self.source_count, None)]
        if self.source_count == _WHOLEBODY_COUNT and _length(annotation.get('keypoints')) != 3 * _WHOLEBODY_COUNT:
            parts = [(field, count, flag) for field, (count, flag) in _WHOLEBODY_PARTS.items()]
        points = np.concatenate([self._part(annotation, *part, where) for part in parts])[self.sources]
        points[points[:, 2] <= 0] = 0
        if not np.isfinite(points).all():
            raise DataError(f'{where}: keypoints holds NaN or infinity for a labelled point; set its v to 0, or fix it')
        return points

    def _part(self, annotation: dict[str, Any], field: str, count: int, flag: Optional[str], where: str) -> np.ndarray:
        if flag is not None and not annotation.get(flag, field in annotation):
            return np.zeros((count, 3), dtype=np.float32)
        values = entry(annotation, field, where, 'list')
        if len(values) != 3 * count:
            raise DataError(f'{where}: {field} holds {len(values)} numbers; {count} key points of x, y, v make '
                            f'{3 * count}. Check keypoint_set, or the list')
        try:
            return np.array(values, dtype=np.float32).reshape(count, 3)
        except (TypeError, ValueError) as error:
            raise DataError(f'{where}: {field} must hold numbers only') from error

    def expand(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All K target points: (1, K, 2) x, y and (1, K) 1 where labelled, float32; others are 0."""
        keypoints, visible = np.zeros((1, self.count, 2), np.float32), np.zeros((1, self.count), np.float32)
        keypoints[0, self.targets] = points[:, :2]
        visible[0, self.targets] = points[:, 2] > 0
        return keypoints, visible


def _is_wholebody(annotations: Sequence[dict[str, Any]]) -> bool:
    return any('foot_kpts' in annotation or _length(annotation.get('keypoints')) == 3 * _WHOLEBODY_COUNT
               for annotation in annotations[:100])


def read_box(box: Any, size: tuple[int, int], where: str) -> np.ndarray:
    """Turn x, y, w, h into (4,) float32 x1, y1, x2, y2, cut to the picture of ``size`` (W, H), pixels.

    Raises:
        DataError: saying ``where``, if the box is no four numbers, empty, or outside the picture.
    """
    remedy = 'give [x, y, w, h] in pixels of the upright picture, or remove the annotation'
    try:
        x, y, width, height = (float(value) for value in box)
    except (TypeError, ValueError) as error:
        raise DataError(f'{where}: bbox {box} is no list of four numbers; {remedy}') from error
    if not np.isfinite([x, y, width, height]).all():
        raise DataError(f'{where}: bbox {box} holds NaN or infinity; {remedy}')
    if width <= 0 or height <= 0:
        raise DataError(f'{where}: bbox {box} is empty; {remedy}')
    last = np.array(size) - 1
    corners = np.concatenate([np.clip([x, y], 0, last), np.clip([x + width, y + height], 0, last)])
    if (corners[2:] <= corners[:2]).any() and min(size) > 1:
        raise DataError(f'{where}: bbox {box} lies outside the picture of {size[0]} x {size[1]} pixels; {remedy}')
    return corners.astype(np.float32)
