"""Reads predicted people: COCO results, or the pose JSON of ``sapiens2 infer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind, Place
from sapiens2.datasets.json_files import numbers, read_json
from sapiens2.datasets.metainfo import COCO17_NAMES, load_metainfo
from sapiens2.detectors.nms import box_iou
from sapiens2.evaluation.functional import person_score

_SCHEMA = 'sapiens2/pose'
_WHOLEBODY = ('keypoints', 'foot_kpts', 'face_kpts', 'lefthand_kpts', 'righthand_kpts')
_WHOLEBODY_COUNT, _COCO_COUNT = 133, 17


@dataclass
class People:
    """People of one image.

    Attributes:
        points: (P, K, 3) x, y, pixels of the source image, and score.
        boxes: (P, 4) x1, y1, x2, y2, pixels.
        scores: (P,) such that times the mean point score they rank the people, see ``person_score``.
    """

    points: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray


def read_document(path: str) -> People:
    """People of a pose JSON of ``sapiens2 infer``.

    Raises:
        DataError: naming the file and what is wrong with it.
    """
    document = read_json(path)
    if not isinstance(document, dict) or document.get('schema') != _SCHEMA:
        raise DataError(Fault(Kind.WRONG_TYPE, path, f'is no {_SCHEMA} document', 'schema',
                              'give the folder of `sapiens2 infer pose`, or one COCO results file'))
    try:
        people = document['instances']
        points = [_triples([[*(xy or (0, 0)), score if xy else 0]
                            for xy, score in zip(person['keypoints'], person['keypoint_scores'], strict=True)])
                  for person in people]
        boxes = [numbers(person['bbox'], np.float64).reshape(4) for person in people]
        scores = [float(person['bbox_score']) for person in people]
        names = document['keypoint_names']
        return _people(points, boxes, scores, len(names))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(Fault(Kind.WRONG_TYPE, path, f'instances cannot be read: {error!r}', 'instances')) from error


def read_results(path: str, images: Mapping[str, Any], stems: Mapping[str, str]) -> dict[str, People]:
    """People by image path, of a COCO results file.

    ``image_id`` is that of the data set's annotations, or, if some id is none of these, the name of the image: its
    path without ending, or the number that its name is.

    Args:
        path: JSON list of image_id, keypoints, score and, optionally, bbox. COCO-WholeBody's five lists make 133.
        images: image path -> id in the data set.
        stems: of ``image_stems``.

    Raises:
        DataError: naming the file, the entry and what is wrong with it.
    """
    content = read_json(path)
    if not isinstance(content, list):
        raise DataError(Fault(Kind.WRONG_TYPE, path, 'COCO results are a list of people', '',
                              'give the file of results, not that of annotations'))
    path_of = _paths_by_id(path, content, images, stems)
    found: dict[str, list[tuple[np.ndarray, np.ndarray, float]]] = {}
    for number, record in enumerate(content):
        place = Place(path, f'result {number}')
        try:
            points = _triples(np.concatenate(
                [numbers(record[name], np.float64) for name in _WHOLEBODY if name in record]).reshape(-1, 3))
            box = _box(record, points)
            score = float(record['score'])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(Fault(Kind.WRONG_TYPE, place, f'must have keypoints (x, y, score in turn) and score: '
                                  f'{error!r}', 'keypoints')) from error
        found.setdefault(path_of[record['image_id']], []).append((points, box, score))
    people = {}
    for image, records in found.items():
        points, boxes, scores = zip(*records)
        # What ranks people is their score times that of their points; the file gives the product.
        ranks = [person_score(1.0, triples[:, 2]) for triples in points]
        points = [triples if rank else np.where([False, False, True], 1.0, triples)
                  for triples, rank in zip(points, ranks)]
        people[image] = _people(points, boxes, [score / (rank or 1) for score, rank in zip(scores, ranks)],
                                len(points[0]))
    return people


def _paths_by_id(path: str, content: Sequence[Any], images: Mapping[str, Any],
                 stems: Mapping[str, str]) -> dict[Any, str]:
    """image_id of the file -> image path."""
    try:
        ids = {record['image_id'] for record in content}
    except (KeyError, TypeError) as error:
        raise DataError(Fault(Kind.MISSING_FIELD, path, 'a result has no image_id', 'image_id')) from error
    by_id = {image_id: image for image, image_id in images.items()}
    if ids <= by_id.keys():
        return by_id
    by_name: dict[Any, str] = {}
    for image, stem in stems.items():
        name = PurePosixPath(stem).name
        for key in {stem, name, int(name) if name.isdecimal() else name}:
            if by_name.setdefault(key, image) != image:
                by_name[key] = ''  # of two images; asked for below only if a result uses it
    wrong = sorted(map(str, (key for key in ids if not by_name.get(key))))
    if wrong:
        raise DataError(Fault(Kind.UNKNOWN_IMAGE, path, f'{len(wrong)} image_id, {wrong[0]!r} first, are no ids of '
                              'the data set, nor names of its images', 'image_id',
                              'predict the images of the test set of the config, and no others'))
    return by_name


def _box(record: Mapping[str, Any], points: np.ndarray) -> np.ndarray:
    """(4,) x1, y1, x2, y2: the stored box x, y, w, h, else that around the points that have a score."""
    if 'bbox' in record:
        x, y, width, height = numbers(record['bbox'], np.float64)
        return np.array([x, y, x + width, y + height])
    seen = points[points[:, 2] > 0, :2] if (points[:, 2] > 0).any() else points[:, :2]
    return np.concatenate([seen.min(0), seen.max(0)])


def _triples(values: Any) -> np.ndarray:
    triples = np.asarray(values, dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(triples).all():
        raise ValueError('key points have values that are not finite')
    return triples


def _people(points: Sequence[np.ndarray], boxes: Sequence[np.ndarray], scores: Sequence[float],
            count: int) -> People:
    if any(len(triples) != count for triples in points):
        raise ValueError(f'people have different numbers of key points, {count} and others')
    return People(np.array(points, dtype=np.float64).reshape(-1, count, 3),
                  np.array(boxes, dtype=np.float64).reshape(-1, 4), np.array(scores, dtype=np.float64))


def to_points_of(people: People, target: int) -> tuple[People, np.ndarray]:
    """``people`` with the ``target`` key points of a data set, and which of them the prediction has, (target,) bool.

    The same points by name, as data sets take them: nothing is derived. A point that is missing is 0, 0 with score 0.

    Raises:
        ValueError: for sets of points that are not known.
    """
    count = people.points.shape[1]
    if count == target:
        return people, np.ones(target, dtype=bool)
    pairs = _pairs(count, target)
    if not pairs:
        raise ValueError(f'{count} predicted key points cannot be compared with the {target} of the data set')
    points = np.zeros((len(people.points), target, 3))
    points[:, list(pairs.values())] = people.points[:, list(pairs)]
    has = np.zeros(target, dtype=bool)
    has[list(pairs.values())] = True
    return People(points, people.boxes, people.scores), has


def _pairs(count: int, target: int) -> dict[int, int]:
    """Index of a predicted point -> index of the same point of the target."""
    table = load_metainfo('sapiens308')
    own = len(table['keypoint_names'])
    coco = table['coco17_indices']
    if (count, target) == (_COCO_COUNT, own):
        return dict(enumerate(coco))
    if (count, target) == (own, _COCO_COUNT):
        return {index: place for place, index in enumerate(coco)}
    if (count, target) == (_WHOLEBODY_COUNT, own):
        return dict(table['wholebody133_to_308'])
    if (count, target) == (_WHOLEBODY_COUNT, _COCO_COUNT):
        return {place: place for place in range(len(COCO17_NAMES))}
    return {}


def assign(predicted: np.ndarray, true: np.ndarray) -> dict[int, int]:
    """Index of a true person -> index of the predicted one that is meant, of as many as there are of the fewer.

    The pair with the largest intersection over union comes first, then the next of those who are left.

    Args:
        predicted: (P, 4) boxes x1, y1, x2, y2.
        true: (T, 4).
    """
    pairs: dict[int, int] = {}
    for place in np.argsort(-box_iou(true, predicted), axis=None, kind='stable'):
        row, column = divmod(int(place), len(predicted))
        if row not in pairs and column not in pairs.values():
            pairs[row] = column
    return pairs


def none(count: int) -> People:
    """Nobody, with ``count`` key points."""
    return People(np.zeros((0, count, 3)), np.zeros((0, 4)), np.zeros(0))


def take_people(people: People, indices: Sequence[int]) -> People:
    """Those of ``people`` at ``indices``."""
    indices = list(indices)
    return People(people.points[indices], people.boxes[indices], people.scores[indices])

