"""Key points of annotations, turned from any set of names into that of a model.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Jin et al., "Whole-Body Human Pose Estimation in
the Wild", ECCV 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.coco_json import entry, objects
from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.json_files import numbers
from sapiens2.datasets.metainfo import TABLE_OF_COUNT, load_metainfo
from sapiens2.datasets.rules.people import point_faults
from sapiens2.utils.suggest import unknown_name

KEYPOINT_SETS = ('coco', 'coco_wholebody', 'sapiens308')
_SHOWN = 5  # values that an error names
# COCO-WholeBody: list of x, y, v -> number of points and the flag that says whether they are labelled, in the order of
# its 133 points.
_WHOLEBODY_PARTS = {
    'keypoints': (17, None), 'foot_kpts': (6, 'foot_valid'), 'face_kpts': (68, 'face_valid'),
    'lefthand_kpts': (21, 'lefthand_valid'), 'righthand_kpts': (21, 'righthand_valid')}
_WHOLEBODY_COUNT = 133
# Points after these were labelled by a network, and their v may be its confidence.
_WHOLEBODY_MANUAL = 23


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

    Attributes:
        left_out: names in the file that are none of ``target``, unless that has the 17 points of COCO only.

    Raises:
        DataError: if the names are unknown, or none of them is a point of ``target``.
    """

    def __init__(self, content: dict[str, Any], keypoint_set: Optional[str], target: str, path: str) -> None:
        if keypoint_set is not None and keypoint_set not in KEYPOINT_SETS:
            raise DataError(unknown_name(keypoint_set, KEYPOINT_SETS, 'keypoint_set'))
        self.path = path
        self.left_out: list[str] = []
        # Points in a list -> the set that has as many, for errors.
        self._sets = {_WHOLEBODY_COUNT: "keypoint_set='coco_wholebody'",
                      **{count: f'keypoint_set={name!r}' for count, name in TABLE_OF_COUNT.items()}}
        own = _own_names(content, path)
        self._sets.setdefault(len(own), 'the names in the categories: leave out keypoint_set')
        table = load_metainfo(target)
        self.count = len(table['keypoint_names'])
        if keypoint_set == 'coco_wholebody' or keypoint_set is None and _is_wholebody(content['annotations']):
            self.source_count = _WHOLEBODY_COUNT
            pairs = table.get('wholebody133_to_308') or dict(enumerate(table['coco17_indices']))
        else:
            names = self._names(content, own, keypoint_set)
            self.source_count = len(names)
            index = {name: i for i, name in enumerate(table['keypoint_names'])}
            pairs = {i: index[name] for i, name in enumerate(names) if name in index}
            self.left_out = [name for name in names if name not in index] if target != 'coco' else []
            if not pairs:
                raise DataError(Fault(Kind.MISSING_FIELD, path, f'none of its key points is one of {target!r}: '
                                      + unknown_name(names[0], index, 'key point'), 'categories'))
        self.sources = np.array(list(pairs), dtype=int)
        self.targets = np.array(list(pairs.values()), dtype=int)

    def _names(self, content: dict[str, Any], own: Sequence[str], keypoint_set: Optional[str]) -> Sequence[str]:
        if keypoint_set is not None:
            names = load_metainfo(keypoint_set)['keypoint_names']
            if list(own) != list(names) and sorted(own) == sorted(names):
                raise DataError(Fault(Kind.OTHER, self.path, f'its categories name the points of {keypoint_set!r} in '
                                      'another order', 'categories', 'leave out keypoint_set, to read them by name'))
            return names
        if own:
            return own
        lengths = sorted({_length(annotation.get('keypoints')) for annotation in content['annotations']} - {0})
        for count, table in TABLE_OF_COUNT.items():
            if 3 * count in lengths:
                return load_metainfo(table)['keypoint_names']
        if not content['annotations']:
            raise DataError(Fault(Kind.EMPTY, self.path, 'holds no annotation', 'annotations'))
        known = ', '.join(f'{3 * count} ({name})' for count, name in sorted(self._sets.items()) if count)
        raise DataError(Fault(
            Kind.MISSING_FIELD, self.path, 'its categories do not name the key points, and their number does not tell '
            f'which they are: the lists hold {", ".join(map(str, lengths[:_SHOWN])) or "no"} numbers, not {known}',
            'categories', 'list the names of the points in keypoints of the category, and x, y, v of each point'))

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

    def _part(self, annotation: dict[str, Any], field: str, count: int, flag: Optional[str],
              place: Place) -> np.ndarray:
        if flag is not None and not annotation.get(flag, field in annotation):
            return np.zeros((count, 3), dtype=np.float32)
        values = entry(annotation, field, place, 'list')
        if len(values) != 3 * count:
            fits = self._sets.get(len(values) // 3) if field == 'keypoints' and len(values) % 3 == 0 else None
            raise DataError(Fault(Kind.WRONG_COUNT, place, f'{field} holds {len(values)} numbers; {count} key points '
                                  f'of x, y, v make {3 * count}', field,
                                  f'so many fit {fits}' if fits else 'check keypoint_set, or the list'))
        try:
            return numbers(values, np.float32).reshape(count, 3)
        except ValueError as error:
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'{field} must hold numbers only', field)) from error

    def unknown_points(self) -> Iterator[Fault]:
        """A warning, if names in the file are none of the model's."""
        if self.left_out:
            yield Fault(Kind.POINT_UNKNOWN, self.path, f'its key points {", ".join(self.left_out)} are none of those '
                        'of the model, and are left out', 'categories', 'rename them in the category if the model has '
                        'them under another name')

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

    def expand(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """All K target points; 0 where the source has none.

        Returns:
            keypoints: (1, K, 2) float32 x, y.
            keypoints_visible: (1, K) float32, 1 where labelled.
            keypoints_hidden: (1, K) float32, 1 where labelled as hidden (v = 1).
        """
        keypoints, v = np.zeros((1, self.count, 2), np.float32), np.zeros((1, self.count), np.float32)
        keypoints[0, self.targets] = points[:, :2]
        v[0, self.targets] = points[:, 2]
        return {'keypoints': keypoints, 'keypoints_visible': (v > 0).astype(np.float32),
                'keypoints_hidden': (v == 1).astype(np.float32)}


def _own_names(content: dict[str, Any], path: str) -> Sequence[str]:
    """The names of the key points in the categories of a file; none if they give none.

    Categories of which no annotation has key points do not count.

    Raises:
        DataError: if two categories name them differently, or what stands there are no names.
    """
    named = [category for category in objects(content.get('categories') or [], f'{path}: categories')
             if category.get('keypoints')]
    if len(named) > 1:
        used = {category for annotation in content['annotations'] if annotation.get('keypoints')
                and isinstance(category := annotation.get('category_id'), (int, str))}
        named = [category for category in named if category.get('id') in used] or named
    for category in named:
        place, names = Place(path, f'category {category.get("id")}'), category['keypoints']
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'keypoints must be a list of names, this is {names!r:.60}',
                                  'categories'))
        if len(set(names)) < len(names):
            double = next(name for name in names if names.count(name) > 1)
            raise DataError(Fault(Kind.DUPLICATE_ID, place, f'keypoints names {double!r} twice', 'categories'))
        if names != named[0]['keypoints']:
            raise DataError(Fault(
                Kind.AMBIGUOUS, place, f'its keypoints are not those of category {named[0].get("id")}, and the '
                'annotations of both have key points', 'categories', 'make a file of each, and train on both with '
                'MixedDataset'))
    return named[0]['keypoints'] if named else ()


def _is_wholebody(annotations: Sequence[dict[str, Any]]) -> bool:
    return any('foot_kpts' in annotation or _length(annotation.get('keypoints')) == 3 * _WHOLEBODY_COUNT
               for annotation in annotations[:100])


