"""How results look as files: numbers for programs, pictures for people. Every file appears whole or not at all.

Below the output folder each task has a folder of its own, and in it each image a name (see
``sapiens2.utils.image_list.output_stems``). All sizes, coordinates and maps are those of the upright source image, that
is after EXIF orientation.

pose: NAME.json, UTF-8:
    schema 'sapiens2/pose'; schema_version '1.1', the first number changes when a reader must.
    image: file, as it was given, null for an array; width, height.
    model, weights: names; weights is 'random' for a network that was never trained.
    boxes_from: name of the file of boxes, or 'whole image', or 'boxes of the caller'.
    keypoint_names: K names. skeleton: pairs of indices into them.
    instances: one object a person, in the order of the boxes:
        bbox [x1, y1, x2, y2], bbox_score, keypoints K pairs [x, y], keypoint_scores K numbers (peak of the heat map).
        Pixels, x to the right, y down, pixel centres at integers. Points may lie outside the image.
    skipped_boxes: texts, boxes in which nothing can be found and why.
    boxes_below_threshold: how many more boxes were left out because their score is too low (since 1.1).
    message: why ``instances`` is empty, otherwise null.
seg: NAME.png, 8 bits, the class of each pixel. NAME.npz: ``sem_seg`` (H, W) uint8; ``classes``, the names by label.
normal: NAME.png, 8 bits RGB = (n + 1) / 2. NAME.npz: ``normal`` (H, W, 3) float16 unit vectors in the camera's frame
    (x right, y down, z forward; a surface that faces the camera has z < 0).
pointmap: NAME.png, 16 bits, depth in millimetres, 0 where there is none, clipped at 65.535 m. NAME.npz: ``pointmap``
    (H, W, 3) float32 metres in the camera's frame; ``scale``, canonical focal length over the focal length of the
    network's input.
albedo: NAME.png, 8 bits RGB. NAME.npz: ``albedo`` (H, W, 3) float16 RGB in [0, 1].
All tasks: NAME.picture.jpg, what a person looks at: skeletons or class colours over the image, or the map beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import write_image
from sapiens2.visualization.layout import beside, fit_square
from sapiens2.visualization.maps import normals_to_bgr, unit_to_bgr
from sapiens2.visualization.pictures import draw_field, draw_people

POSE_SCHEMA, POSE_SCHEMA_VERSION = 'sapiens2/pose', '1.1'
# Task -> its field in a data sample.
FIELD_OF_TASK = {'seg': 'sem_seg', 'normal': 'normal', 'pointmap': 'pointmap', 'albedo': 'albedo'}
# Task -> endings of its files of numbers.
NUMBER_ENDINGS = {'pose': ('.json',), **dict.fromkeys(FIELD_OF_TASK, ('.png', '.npz'))}
PICTURE_ENDING = '.picture.jpg'
# A larger picture cannot be saved as JPEG, and is shrunk.
_MAX_JPEG_SIDE = 65_500


def depth_to_millimetres(depth: np.ndarray) -> np.ndarray:
    """(H, W) metres to uint16 millimetres; 0 where depth is not finite or not positive."""
    valid = np.isfinite(depth) & (depth > 0)
    return np.where(valid, np.clip(np.rint(np.where(valid, depth, 0) * 1000), 1, 65_535), 0).astype(np.uint16)


# Task -> what its PNG holds, as OpenCV writes it.
_PNG_OF_TASK: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    'seg': lambda labels: labels,
    'normal': normals_to_bgr,
    'pointmap': lambda points: depth_to_millimetres(points[..., 2]),
    'albedo': unit_to_bgr,
}
# Fields of a small fixed range lose nothing visible in half precision, and a photograph's normals fill 70 MB else.
_HALF_PRECISION = ('normal', 'albedo')


def pose_document(result: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a pose JSON."""
    height, width = result['image_size']
    people = zip(result['bboxes'].tolist(), result['bbox_scores'].tolist(), result['keypoints'].tolist(),
                 result['keypoint_scores'].tolist())
    return {
        'schema': POSE_SCHEMA, 'schema_version': POSE_SCHEMA_VERSION,
        'image': {'file': result['path'], 'width': width, 'height': height},
        'model': result['model'], 'weights': result['weights'], 'boxes_from': result['boxes_from'],
        'keypoint_names': result['dataset_meta']['keypoint_names'],
        'skeleton': result['dataset_meta']['skeleton_links'],
        'instances': [{
            'bbox': [round(value, 3) for value in box], 'bbox_score': round(box_score, 5),
            'keypoints': [[round(x, 3), round(y, 3)] for x, y in points],
            'keypoint_scores': [round(score, 5) for score in scores],
        } for box, box_score, points, scores in people],
        'skipped_boxes': result['skipped_boxes'], 'boxes_below_threshold': result['boxes_below_threshold'],
        'message': result['message'],
    }


def result_picture(image: np.ndarray, result: Mapping[str, Any], score_thr: float = 0.3) -> np.ndarray:
    """What a person looks at: (H', W', 3) BGR.

    Args:
        image: (H, W, 3) uint8 BGR source image.
        score_thr: key points with a lower score are left out.
    """
    if result['task'] == 'pose':
        return draw_people(image, result, score_thr, result['dataset_meta'])
    field = FIELD_OF_TASK[result['task']]
    picture = draw_field(field, image, result[field], dataset_meta=result['dataset_meta'])
    return picture if field == 'sem_seg' else beside([image, picture])


def _write_numbers(path: Path, result: Mapping[str, Any]) -> list[Path]:
    """``path`` has no ending yet; return the files."""
    task = result['task']
    files = [Path(f'{path}{ending}') for ending in NUMBER_ENDINGS[task]]
    if task == 'pose':
        with atomic_path(files[0]) as partial:
            text = json.dumps(pose_document(result), ensure_ascii=False, allow_nan=False)
            # A name that is no Unicode has bytes that UTF-8 cannot write; JSON writes them as this escape.
            partial.write_bytes(text.encode('utf-8', 'backslashreplace'))
        return files
    field = FIELD_OF_TASK[task]
    write_image(files[0], _PNG_OF_TASK[task](result[field]))
    value = result[field].astype(np.float16) if field in _HALF_PRECISION else result[field]
    others = {'classes': np.array(result['dataset_meta']['classes'])} if task == 'seg' else {}
    others.update({'scale': result['scale']} if task == 'pointmap' else {})
    with atomic_path(files[1]) as partial:
        np.savez(partial, **{field: value}, **others)
    return files


def write_result(
        folder: Path, stem: str, image: np.ndarray, result: Mapping[str, Any], picture: bool = True,
        score_thr: float = 0.3) -> list[Path]:
    """Write the files of one result.

    Args:
        folder: output folder; the task's own is made below it.
        stem: name of the image's results, '/' between folders.
        image: (H, W, 3) uint8 BGR source image.
        result: as ``Sapiens2Inferencer`` makes it, without error.

    Raises:
        OSError: if a file cannot be written.
    """
    path = folder / result['task'] / stem
    files = _write_numbers(path, result)
    if picture:
        drawn = result_picture(image, result, score_thr)
        files.append(Path(f'{path}{PICTURE_ENDING}'))
        write_image(files[-1], fit_square(drawn, min(max(drawn.shape[:2]), _MAX_JPEG_SIDE)))
    return files
