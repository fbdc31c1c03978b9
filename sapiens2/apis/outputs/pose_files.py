"""Key points as JSON: the project's own document, and the layout of OpenPose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Union

import numpy as np

from sapiens2.apis.outputs.files import write_json
from sapiens2.apis.outputs.options import OutputOptions
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.metainfo.conversions import OWN, convert_keypoints, keypoint_conversion

POSE_SCHEMA, POSE_SCHEMA_VERSION = 'sapiens2/pose', '1.2'
_OPENPOSE_VERSION = 1.3
# Of COCO-WholeBody's 133 points: face and hands, which OpenPose stores apart.
_FACE, _LEFT_HAND, _RIGHT_HAND = slice(23, 91), slice(91, 112), slice(112, 133)
# The two points that OpenPose adds to the 68 of the face.
_PUPILS = ('r_center_of_pupil', 'l_center_of_pupil')


def image_id(stem: str) -> Union[int, str]:
    """COCO's number of an image, by the name of its file; the name itself where that is no number."""
    name = PurePosixPath(stem).name
    return int(name) if name.isascii() and name.isdecimal() else stem


def pose_document(result: Mapping[str, Any], options: OutputOptions = OutputOptions(), stem: str = '') \
        -> dict[str, Any]:
    """The content of a pose JSON.

    Args:
        stem: name of the image's results.
    """
    height, width = result['image_size']
    meta = result['dataset_meta']
    points, scores = np.asarray(result['keypoints']), np.asarray(result['keypoint_scores'])
    ids = result.get('track_ids')
    document = {
        'schema': POSE_SCHEMA, 'schema_version': POSE_SCHEMA_VERSION,
        'image': {'file': result['path'], 'width': width, 'height': height,
                  'id': result.get('image_id', image_id(stem))},
        'frame': result.get('frame'), 'time_s': result.get('time_s'),
        'model': result['model'], 'weights': result['weights'], 'boxes_from': result['boxes_from'],
        'keypoint_names': meta['keypoint_names'], 'skeleton': meta['skeleton_links'],
        'instances': [{
            'bbox': [round(value, 3) for value in box], 'bbox_score': round(box_score, 5),
            **({} if ids is None else {'track_id': int(ids[index])}),
            **_person(points[index], scores[index]),
        } for index, (box, box_score) in enumerate(zip(result['bboxes'].tolist(), result['bbox_scores'].tolist()))],
        'skipped_boxes': result['skipped_boxes'], 'boxes_below_threshold': result['boxes_below_threshold'],
        'message': result['message'],
    }
    if options.keypoints:
        own = tuple(meta['keypoint_names'])
        document['converted'] = {name: _converted(name, points, scores, options.near_keypoints, own)
                                 for name in options.keypoints}
    return document


def _person(points: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Points as [x, y], or null where there is none."""
    return {'keypoints': [[round(x, 3), round(y, 3)] if x == x else None for x, y in points.tolist()],
            'keypoint_scores': [round(score, 5) for score in scores.tolist()]}


def _converted(name: str, points: np.ndarray, scores: np.ndarray, near: bool, own: tuple[str, ...]) -> dict[str, Any]:
    conversion = keypoint_conversion(name, near=near)
    if own == conversion.names:  # the network gives this very set
        return {'keypoint_names': list(own), 'relations': ['same'] * len(own), 'missing': [],
                'instances': [_person(*person) for person in zip(points, scores)]}
    points, scores = conversion.apply(points, scores)
    return {'keypoint_names': list(conversion.names), 'relations': list(conversion.relations),
            'missing': conversion.missing, 'instances': [_person(*person) for person in zip(points, scores)]}


def openpose_document(result: Mapping[str, Any], near: bool = True) -> dict[str, Any]:
    """The content of a JSON as OpenPose writes it (version 1.3): BODY_25, 70 points of the face, 21 of each hand.

    x, y, score in turn; three zeros for a point that there is not. Pixels of the source image.
    """
    points, scores = np.asarray(result['keypoints']), np.asarray(result['keypoint_scores'])
    whole = _triples(*convert_keypoints(points, scores, 'wholebody133', near=near))
    body = _triples(*convert_keypoints(points, scores, 'openpose25'))
    names = load_metainfo(OWN)['keypoint_names']
    pupils = _triples(points, scores)[:, [names.index(name) for name in _PUPILS]]
    face = np.concatenate([whole[:, _FACE], pupils], axis=1)
    ids = result.get('track_ids', np.full(len(points), -1))
    return {'version': _OPENPOSE_VERSION, 'people': [{
        'person_id': [int(ids[index])],
        'pose_keypoints_2d': _flat(body[index]), 'face_keypoints_2d': _flat(face[index]),
        'hand_left_keypoints_2d': _flat(whole[index, _LEFT_HAND]),
        'hand_right_keypoints_2d': _flat(whole[index, _RIGHT_HAND]),
        'pose_keypoints_3d': [], 'face_keypoints_3d': [], 'hand_left_keypoints_3d': [], 'hand_right_keypoints_3d': [],
    } for index in range(len(points))]}


def _triples(points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(people, K, 3) x, y, score; zeros for a missing point."""
    return np.nan_to_num(np.concatenate([points, scores[..., None]], axis=-1).astype(np.float64))


def _flat(triples: np.ndarray) -> list[float]:
    return np.round(triples, 5).ravel().tolist()


def write_pose(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write the project's own document."""
    write_json(path, pose_document(result, options, stem))


def write_openpose(path: Path, result: Mapping[str, Any], options: OutputOptions, stem: str) -> None:
    """Write OpenPose's layout.

    Raises:
        ValueError: for a network of other key points than the 308.
    """
    write_json(path, openpose_document(result, options.near_keypoints))
