"""Metric of human pose."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
from mmengine.evaluator import BaseMetric
from mmengine.logging import print_log

from sapiens2.datasets.metainfo import TABLE_OF_COUNT, load_metainfo
from sapiens2.evaluation.functional import (PCK_PERCENT, STATISTICS, coco_scores, coco_statistics, distance_scores,
                                            distance_sums, extent, keypoint_annotation, person_index, person_score)
from sapiens2.evaluation.metrics.pose_people import predicted_people, read_truth, true_people
from sapiens2.evaluation.metrics.samples import Sample
from sapiens2.registry import METRICS
from sapiens2.structures.names import sample_name
from sapiens2.utils.suggest import UnknownNameError, unknown_name
from sapiens2.utils.logging import log_details
from sapiens2.utils.text_table import text_table

MODES = ('coco17', 'sapiens308')
# Mode 'sapiens308': parts with figures of their own -> groups of the table of key points.
PARTS = {'body': ('body',), 'foot': ('foot',), 'face': ('face',), 'hands': ('left_hand', 'right_hand')}
# Groups whose distances are measured in their own size; those of the others in the size of the person's box.
OWN_SIZE = ('face', 'left_hand', 'right_hand')
_MAX_NAMES = 20
# Columns of the printed table of parts.
_COLUMNS = ('AP', 'AR', *(f'PCK{limit:02d}_percent' for limit in PCK_PERCENT), 'NME_percent', 'labelled_keypoints')


@METRICS.register_module()
class CocoPoseMetric(BaseMetric):
    """Average precision and recall of key points by pycocotools.

    Mode 'coco17': the 17 points of COCO with COCO's sigmas, whatever set is predicted. Given ``ann_file``, the figures
    are exactly those of pycocotools, crowds and unlabelled people included. Without it, ground truth is what
    ``gt_instances`` hold, which has neither; with annotated boxes the figures are the same but for rounding.

    Mode 'sapiens308': all predicted points with the sigmas of their table, over the points that ``gt_instances`` label,
    and the same for each of ``PARTS``. The log says which points have ground truth; parts without any have no figures.
    Besides precision and recall there are the figures of ``distance_scores``, over all people with a prediction. The
    unit of distance is the longer side of the person's box, but that of the box around the labelled points themselves
    for each group of ``OWN_SIZE``, where fewer than two labelled points do not count.

    With ground truth from ``gt_instances``, a person without a label among the evaluated points is left out, together
    with what was predicted for it, which is neither right nor wrong.

    Keys, after ``pose/``: those of ``coco_scores``, in [0, 1] or -1 where no person counts; in mode 'sapiens308' also
    ``PCK05_percent``, ``PCK20_percent``, ``NME_percent``, ``labelled_keypoints``, the number of points with ground
    truth, and all of these with AP and AR for each part: ``body_AP``, ``body_AR``, ``body_NME_percent`` and so on.

    People are ranked by ``person_score``. Without predictions the figures are zero.

    Args:
        ann_file: COCO JSON with 17 points a person (COCO-WholeBody, too), mode 'coco17' only.
        mode: 'coco17' or 'sapiens308'.
        all_images: evaluate all images of ``ann_file``, not only those that were seen. Published figures with
            detected boxes count people in images without detections, too.
        kwargs: ``collect_device``, ``prefix`` and ``collect_dir`` of MMEngine's ``BaseMetric``.

    Raises:
        UnknownNameError: if there is no such mode.
        ValueError: if ``ann_file`` and ``mode`` do not fit.
        DataError: naming ``ann_file`` and what is wrong with it.
    """

    default_prefix = 'pose'

    def __init__(self, ann_file: Optional[str] = None, mode: str = 'coco17', all_images: bool = False,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if mode not in MODES:
            raise UnknownNameError(unknown_name(mode, MODES, 'mode of CocoPoseMetric'))
        if mode != 'coco17' and ann_file:
            raise ValueError(f"CocoPoseMetric: ann_file is for mode='coco17'; in mode={mode!r} the ground truth comes "
                             'from the data set: leave ann_file out')
        if all_images and not ann_file:
            raise ValueError('CocoPoseMetric: all_images needs the ann_file that names them')
        self.ann_file, self.mode, self.all_images = ann_file, mode, all_images
        self.truth = read_truth(ann_file) if ann_file else None

    def process(self, data_batch: Any, data_samples: Sequence[Sample]) -> None:
        """Keep points and scores of the people of a batch.

        Raises:
            UnknownNameError: naming a sample and the field that it lacks.
            ValueError: naming a sample whose predicted and true points differ in number, are not finite, or are of an
                image that ``ann_file`` lacks.
        """
        for index, sample in enumerate(data_samples):
            name = sample_name(sample, index)
            if self.truth and sample['img_id'] not in self.truth.imgs:
                raise ValueError(f'{name}: image {sample["img_id"]!r} is not among those of {self.ann_file}; ann_file '
                                 'must be that of the validation set')
            people, truth = predicted_people(sample, index), [] if self.truth else true_people(sample, index)
            self.results.append({'people': people, 'truth': truth, 'img_id': sample['img_id']})
            sizes = {len(person['points']) for person in (*people, *truth)}
            if len(sizes) > 1 or not sizes <= set(TABLE_OF_COUNT):
                raise ValueError(f'{name}: people have {sorted(sizes)} key points; predicted and '
                                 f'true points must be one of the sets {list(TABLE_OF_COUNT.values())}')

    def compute_metrics(self, results: list[dict[str, Any]]) -> dict[str, float]:
        """Figures of the whole set; a table of them is logged."""
        if not any(result['people'] for result in results):
            print_log('No people were predicted: all figures of key points are zero', logger='current',
                      level=logging.WARNING)
        people = [person for result in results for person in (*result['people'], *result['truth'])]
        if not people:
            return coco_scores(np.zeros(len(STATISTICS)))
        table = load_metainfo(TABLE_OF_COUNT[len(people[0]['points'])])
        if self.mode == 'sapiens308':
            return self._own_scores(results, table)
        scores = coco_scores(self._statistics(results, table['coco17_indices']))
        values = [f'{value:.4f}' for value in scores.values()]
        log_details('\n' + text_table(('points', *scores), [('COCO 17', *values)]))
        return scores

    def _own_scores(self, results: list[dict[str, Any]], table: Mapping[str, Any]) -> dict[str, float]:
        """Figures of all points and of each part."""
        names, groups = table['keypoint_names'], table['groups']
        labelled = np.zeros(len(names), dtype=bool)
        for person in (person for result in results for person in result['truth']):
            labelled |= person['points'][:, 2] > 0
        everything = list(range(len(names)))
        sigmas = np.array(table['sigmas'])
        scores = {**coco_scores(self._statistics(results, everything, sigmas)),
                  **distance_scores(_distances(results, [(everything, False)])),
                  'labelled_keypoints': float(labelled.sum())}
        for part, members in PARTS.items():
            sets = [(groups[group], group in OWN_SIZE) for group in members if group in groups]
            points = [index for indices, _ in sets for index in indices]
            missing = [names[index] for index in points if not labelled[index]]
            log_details(f'{part}: {len(points) - len(missing)} of {len(points)} key points have ground truth'
                        + _lacking(missing, len(points)))
            if len(missing) < len(points):
                of_part = {**coco_scores(self._statistics(results, points, sigmas[points])),
                           **distance_scores(_distances(results, sets)),
                           'labelled_keypoints': float(len(points) - len(missing))}
                scores |= {f'{part}_{name}': of_part[name] for name in _COLUMNS if name in of_part}
        log_details(f'\n{part_table(scores)}')
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


def _lacking(missing: list[str], points: int) -> str:
    """Which of a part's ``points`` have no ground truth; not all names where that would fill the screen."""
    if len(missing) in (0, points):
        return ', so there are no figures' if missing else ''
    more = len(missing) - _MAX_NAMES
    return f'; not {", ".join(missing[:_MAX_NAMES])}' + (f' and {more} more' if more > 0 else '')


def _distances(results: list[dict[str, Any]], sets: list[tuple[list[int], bool]]) -> np.ndarray:
    """Sums of ``distance_sums`` over the people who have both a prediction and ground truth.

    Args:
        sets: indices of points, and whether they are measured in their own size.
    """
    return sum((distance_sums(person['points'][points], truth['points'][points],
                              extent(truth['points'][points]) if own else max(truth['bbox'][2:]))
                for result in results for person, truth in zip(result['people'], result['truth'])
                for points, own in sets), start=np.zeros(2 + len(PCK_PERCENT)))


def part_table(scores: Mapping[str, float]) -> str:
    """A row for all points and one for each part that has figures, as lines of text."""
    rows = []
    for part, prefix in (('all', ''), *((part, f'{part}_') for part in PARTS)):
        if f'{prefix}AP' in scores:
            values = [scores.get(f'{prefix}{column}') for column in _COLUMNS]
            rows.append((part, *('-' if value is None else f'{value:.4f}' for value in values[:2]),
                         *('-' if value is None else f'{value:.2f}' for value in values[2:-1]), f'{values[-1]:.0f}'))
    return text_table(('points', *(name.replace('_percent', ' (%)').replace('_', ' ') for name in _COLUMNS)), rows)


def _has_label(truth: list[dict[str, Any]], points: Sequence[int]) -> bool:
    """Whether anyone has a labelled point among those whose indices are ``points``."""
    return any((person['points'][points, 2] > 0).any() for person in truth)
