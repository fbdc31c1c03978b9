"""Average precision of key points by COCO's own evaluation code, for any set of points.

Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. An object key point similarity (OKS) takes the place
of the overlap of boxes: the mean over the labelled points of exp(-d^2 / (2 area (2 sigma)^2)), d in pixels.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

# The ten numbers of COCO's summary, in its order.
STATISTICS = ('AP', 'AP50', 'AP75', 'AP_M', 'AP_L', 'AR', 'AR50', 'AR75', 'AR_M', 'AR_L')
MIN_POINT_SCORE = 0.2

# Distances within which a key point is correct, as shares of a size in percent.
PCK_PERCENT = (5, 20)

Annotation = dict[str, Any]


def person_score(box_score: float, point_scores: np.ndarray, threshold: float = MIN_POINT_SCORE) -> float:
    """Box score times the mean score of the points above ``threshold``, as MMPose ranks people; 0 if there are none.

    Args:
        box_score: of the person's box.
        point_scores: (K,).
        threshold: points at or below are left out of the mean.
    """
    sure = point_scores[point_scores > threshold]
    return float(box_score) * float(sure.mean()) if sure.size else 0.0


def keypoint_annotation(points: np.ndarray, **entries: Any) -> Annotation:
    """A COCO annotation of one person.

    Args:
        points: (K, 3): x, y, pixels of the source image, and 0 for a point that is not labelled (ground truth) or the
            point's score (prediction).
        entries: the other fields: image_id, and bbox (x, y, w, h) and area, or score.
    """
    return {'category_id': 1, 'iscrowd': 0, 'keypoints': points.ravel().tolist(),
            'num_keypoints': int(np.count_nonzero(points[:, 2] > 0)), **entries}


def person_index(annotations: Sequence[Annotation], image_ids: Sequence[Any]) -> COCO:
    """pycocotools' index of ``annotations`` of persons, in the images ``image_ids``.

    Persons are numbered anew from 1: pycocotools takes a match with number 0 for no match.
    """
    coco = COCO()
    coco.dataset = {'images': [{'id': image_id} for image_id in image_ids], 'categories': [{'id': 1, 'name': 'person'}],
                    'annotations': [{**annotation, 'id': i} for i, annotation in enumerate(annotations, start=1)]}
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
    return coco


def coco_statistics(truth: COCO,
                    results: Sequence[Annotation],
                    image_ids: Sequence[Any],
                    sigmas: Optional[np.ndarray] = None) -> np.ndarray:
    """The ten ``STATISTICS`` over the images ``image_ids``, in [0, 1], or -1 where no person counts.

    Args:
        truth: annotations with key points.
        results: predicted people: image_id, category_id, keypoints (3 K numbers) and score.
        image_ids: images to evaluate.
        sigmas: (K,); COCO's own for its 17 points if None.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        # loadRes cannot take an empty list.
        found = truth.loadRes([dict(result) for result in results]) if results else COCO()
        evaluation = COCOeval(truth, found, iouType='keypoints')
        evaluation.params.imgIds = list(image_ids)
        if sigmas is not None:
            evaluation.params.kpt_oks_sigmas = np.asarray(sigmas, dtype=np.float64)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def coco_scores(statistics: np.ndarray, suffix: str = '') -> dict[str, float]:
    """``statistics`` by name, each name followed by ``suffix``."""
    return {f'{name}{suffix}': float(value) for name, value in zip(STATISTICS, statistics)}


def distance_sums(pred: np.ndarray, truth: np.ndarray, size: float) -> np.ndarray:
    """Sums of one person's labelled points for ``distance_scores``, which may be added to those of others.

    Args:
        pred: (K, 2 or more) x, y, pixels.
        truth: (K, 3) x, y, pixels, and 0 for a point that is not labelled.
        size: of the person or the part, pixels; nothing is summed for a size of 0.

    Returns:
        Number of points, sum of their distances over ``size``, and how many are within each of ``PCK_PERCENT``.
    """
    labelled = truth[:, 2] > 0
    if not size > 0 or not labelled.any():
        return np.zeros(2 + len(PCK_PERCENT))
    distances = np.linalg.norm(pred[labelled, :2] - truth[labelled, :2], axis=1) / size
    return np.array([distances.size, distances.sum(), *((distances <= limit / 100).sum() for limit in PCK_PERCENT)])


def distance_scores(sums: np.ndarray) -> dict[str, float]:
    """Percentages of correct key points (PCK) and mean normalised error (NME), both in percent; {} without points."""
    number, distance, *within = sums.tolist()
    if not number:
        return {}
    return {**{f'PCK{limit:02d}_percent': 100 * correct / number for limit, correct in zip(PCK_PERCENT, within)},
            'NME_percent': 100 * distance / number}


def extent(points: np.ndarray) -> float:
    """Longer side of the box around the labelled ones of ``points`` (K, 3), pixels; 0 for fewer than two."""
    seen = points[points[:, 2] > 0, :2]
    return float(np.ptp(seen, axis=0).max()) if len(seen) else 0.0
