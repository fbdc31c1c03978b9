"""Metric of human pose."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
from mmengine.evaluator import BaseMetric
from mmengine.logging import print_log
from pycocotools.coco import COCO
from torch import Tensor

from sapiens2.datasets.coco_json import entry, read_coco
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import TABLE_OF_COUNT, load_metainfo
from sapiens2.evaluation.functional import (STATISTICS, coco_scores, coco_statistics, keypoint_annotation, person_index,
                                            person_score)
from sapiens2.evaluation.metrics.samples import Sample, take
from sapiens2.registry import METRICS
from sapiens2.structures.names import sample_name
from sapiens2.utils.suggest import unknown_name

MODES = ('coco17', 'sapiens308')
# Mode 'sapiens308': parts with figures of their own -> groups of the table of key points.
PARTS = {'body': ('body',), 'foot': ('foot',), 'face': ('face',), 'hands': ('left_hand', 'right_hand')}


@METRICS.register_module()
class CocoPoseMetric(BaseMetric):
    """Average precision and recall of key points by pycocotools.

    Mode 'coco17': the 17 points of COCO with COCO's sigmas, whatever set is predicted. Given ``ann_file``, the figures
    are exactly those of pycocotools, crowds and unlabelled people included. Without it, ground truth is what
    ``gt_instances`` hold, which has neither; with annotated boxes the figures are the same but for rounding.

    Mode 'sapiens308': all predicted points with the sigmas of their table, over the points that ``gt_instances`` label,
    and the same for each of ``PARTS``. The log says which points have ground truth; parts without any have no figures.

    With ground truth from ``gt_instances``, a person without a label among the evaluated points is left out, together
    with what was predicted for it, which is neither right nor wrong.

    Keys, after ``pose/``: those of ``coco_scores``, in [0, 1] or -1 where no person counts; in mode 'sapiens308' also
    ``body_AP``, ``body_AR`` and so on, and ``labelled_keypoints``, the number of points with ground truth.

    People are ranked by ``person_score``. Without predictions the figures are zero.

    Args:
        ann_file: COCO JSON with 17 points a person (COCO-WholeBody, too), mode 'coco17' only.
        mode: 'coco17' or 'sapiens308'.
        all_images: evaluate all images of ``ann_file``, not only those that were seen. Published figures with
            detected boxes count people in images without detections, too.
        kwargs: ``collect_device``, ``prefix`` and ``collect_dir`` of MMEngine's ``BaseMetric``.

    Raises:
        KeyError: if there is no such mode.
        ValueError: if ``ann_file`` and ``mode`` do not fit.
        DataError: naming ``ann_file`` and what is wrong with it.
    """

    default_prefix = 'pose'

    def __init__(self, ann_file: Optional[str] = None, mode: str = 'coco17', all_images: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if mode not in MODES:
            raise KeyError(unknown_name(mode, MODES, 'mode of CocoPoseMetric'))
        if mode != 'coco17' and ann_file:
            raise ValueError(f"CocoPoseMetric: ann_file is for mode='coco17'; in mode={mode!r} the ground truth comes "
                             'from the data set: leave ann_file out')
        if all_images and not ann_file:
            raise ValueError('CocoPoseMetric: all_images needs the ann_file that names them')
        self.ann_file, self.mode, self.all_images = ann_file, mode, all_images
        self.truth = _read_truth(ann_file) if ann_file else None

    def process(self, data_batch: Any, data_samples: Sequence[Sample]) -> None:
        """Keep points and scores of the people of a batch.

        Raises:
            KeyError: naming a sample and the field that it lacks.
            ValueError: naming a sample whose predicted and true points differ in number, are not finite, or are of an
                image that ``ann_file`` lacks.
        """
        for index, sample in enumerate(data_samples):
            name = sample_name(sample, index)
            if self.truth and sample['img_id'] not in self.truth.imgs:
                raise ValueError(f'{name}: image {sample["img_id"]!r} is not among those of {self.ann_file}; ann_file '
                                 'must be that of the validation set')
            people, truth = _predicted_people(sample, index), [] if self.truth else _true_people(sample, index)
            self.results.append({'people': people, 'truth': truth, 'img_id': sample['img_id']})
            sizes = {len(person['points']) for person in (*people, *truth)}
            if len(sizes) > 1 or not sizes <= set(TABLE_OF_COUNT):
                raise ValueError(f'{name}: people have {sorted(sizes)} key points; predicted and '
                                 f'true points must be one of the sets {list(TABLE_OF_COUNT.values())}')

    def compute_metrics(self, results: list[dict[str, Any]]) -> dict[str, float]:
        """Figures of the whole set."""
        people = [person for result in results for person in (*result['people'], *result['truth'])]
        if not any(result['people'] for result in results):
            print_log('No people were predicted: all figures of key points are zero', logger='current',
                      level=logging.WARNING)
        if not people:
            return coco_scores(np.zeros(len(STATISTICS)))
        table = load_metainfo(TABLE_OF_COUNT[len(people[0]['points'])])
        if self.mode == 'coco17':
            return coco_scores(self._statistics(results, table['coco17_indices']))
        return self._own_scores(results, table)

    def _own_scores(self, results: list[dict[str, Any]], table: Mapping[str, Any]) -> dict[str, float]:
        """Figures of all points and of each part."""
        names, sigmas = table['keypoint_names'], np.array(table['sigmas'])
        labelled = np.zeros(len(names), dtype=bool)
        for person in (person for result in results for person in result['truth']):
            labelled |= person['points'][:, 2] > 0
        scores = coco_scores(self._statistics(results, list(range(len(names))), sigmas))
        scores['labelled_keypoints'] = float(labelled.sum())
        for part, groups in PARTS.items():
            points = [i for group in groups for i in table['groups'].get(group, ())]
            missing = [names[i] for i in points if not labelled[i]]
            print_log(f'{part}: {len(points) - len(missing)} of {len(points)} key points have ground truth'
                      + (f'; not {", ".join(missing)}' if 0 < len(missing) < len(points) else ''), logger='current')
            if len(missing) < len(points):
                part_scores = coco_scores(self._statistics(results, points, sigmas[points]))
                scores |= {f'{part}_{name}': part_scores[name] for name in ('AP', 'AR')}
        return scores

    def _statistics(self, results: list[dict[str, Any]], points: Sequence[int],
                    sigmas: Optional[np.ndarray] = None) -> np.ndarray:
        """COCO's numbers over the points whose indices are ``points``."""
        image_ids = sorted({result['img_id'] for result in results})
        if self.truth is None:
            results = [result for result in results if _has_label(result['truth'], points)]
        people = [keypoint_annotation(
            person['points'][points], image_id=result['img_id'],
            score=person_score(person['box_score'], person['points'][points, 2]))
            for result in results for person in result['people']]
        truth = self.truth or person_index(
            [keypoint_annotation(person['points'][points], image_id=result['img_id'], bbox=person['bbox'],
                                 area=person['area']) for result in results for person in result['truth']], image_ids)
        return coco_statistics(truth, people, truth.getImgIds() if self.all_images else image_ids, sigmas)


def _has_label(truth: list[dict[str, Any]], points: Sequence[int]) -> bool:
    """Whether anyone has a labelled point among those whose indices are ``points``."""
    return any((person['points'][points, 2] > 0).any() for person in truth)


def _predicted_people(sample: Sample, index: int) -> list[dict[str, Any]]:
    """``points`` (K, 3), x, y, score, pixels of the source image; ``box_score``."""
    keypoints, scores, box_scores = (_array(sample, index, 'pred_instances', name)
                                     for name in ('keypoints', 'keypoint_scores', 'bbox_scores'))
    return [{'points': np.concatenate((xy, score[:, None]), axis=1), 'box_score': float(box_score)}
            for xy, score, box_score in zip(keypoints, scores, box_scores)]


def _true_people(sample: Sample, index: int) -> list[dict[str, Any]]:
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


def _read_truth(path: str) -> COCO:
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
