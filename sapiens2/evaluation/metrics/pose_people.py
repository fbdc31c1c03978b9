"""People in evaluated samples and in annotation files, as ``CocoPoseMetric`` compares them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pycocotools.coco import COCO
from torch import Tensor

from sapiens2.datasets.coco_json import entry, read_coco
from sapiens2.datasets.errors import DataError
from sapiens2.evaluation.functional import keypoint_annotation, person_index
from sapiens2.evaluation.metrics.samples import Sample, take
from sapiens2.structures.names import sample_name


def predicted_people(sample: Sample, index: int) -> list[dict[str, Any]]:
    """``points`` (K, 3), x, y, score, pixels of the source image; ``box_score``."""
    keypoints, scores, box_scores = (_array(sample, index, 'pred_instances', name)
                                     for name in ('keypoints', 'keypoint_scores', 'bbox_scores'))
    return [{'points': np.concatenate((xy, score[:, None]), axis=1), 'box_score': float(box_score)}
            for xy, score, box_score in zip(keypoints, scores, box_scores)]


def true_people(sample: Sample, index: int) -> list[dict[str, Any]]:
    """``points`` (K, 3), x, y, labelled or not; ``bbox`` x, y, w, h; ``area``."""
    keypoints, visible, boxes, areas = (_array(sample, index, 'gt_instances', name)
                                        for name in ('keypoints', 'keypoints_visible', 'bboxes', 'area'))
    return [{'points': np.concatenate((xy, seen[:, None]), axis=1), 'area': float(area),
             'bbox': [*box[:2].tolist(), *(box[2:] - box[:2]).tolist()]}
            for xy, seen, box, area in zip(keypoints, visible, boxes, areas)]


def _array(sample: Sample, index: int, part: str, name: str) -> np.ndarray:
    value = take(sample, index, part, name)
    array = value.detach().cpu().double().numpy() if isinstance(value, Tensor) else np.asarray(value)
    if not np.isfinite(array).all():
        raise ValueError(f'{sample_name(sample, index)}: {part}.{name} has values that are not finite')
    return array.astype(np.float64, copy=False)


def read_truth(path: str) -> COCO:
    """pycocotools' index of an annotation file with 17 points a person."""
    content = read_coco(path)
    people = []
    for annotation in content['annotations']:
        if 'keypoints' not in annotation:
            continue
        where = f'{path}: annotation {annotation.get("id")}'
        points = np.array(annotation['keypoints'], dtype=np.float64)
        if points.size != 51:
            raise DataError(f"{where}: keypoints has {points.size} values, COCO's 17 points have 51; leave ann_file "
                            'out to evaluate them as the data set gives them')
        _, _, width, height = entry(annotation, 'bbox', where)
        defaults = {**keypoint_annotation(points.reshape(17, 3)), 'area': width * height}
        people.append({**defaults, **annotation, 'category_id': 1})
    return person_index(people, [entry(image, 'id', f'{path}: an image') for image in content['images']])
