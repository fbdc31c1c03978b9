"""Non-maximum suppression: of boxes that show the same person, the surest stays."""

from __future__ import annotations

import numpy as np


def box_iou(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(N, M) intersections over unions of (N, 4) and (M, 4) boxes x1, y1, x2, y2; 0 for boxes without area."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    areas = [np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), axis=-1) for boxes in (first, second)]
    union = areas[0][:, None] + areas[1][None] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def nms(boxes: np.ndarray, scores: np.ndarray, overlap: float = 0.7) -> np.ndarray:
    """Indices of the boxes that stay, the surest first.

    Args:
        boxes: (N, 4) x1, y1, x2, y2.
        scores: (N,).
        overlap: a box whose intersection over union with a surer one is larger is left out; 1 keeps all. People in a
            crowd overlap by 0.6 and more, so lower values lose some of them: see ``soft_nms``.
    """
    order = np.argsort(-np.asarray(scores), kind='stable')
    shared = box_iou(np.asarray(boxes).reshape(-1, 4), np.asarray(boxes).reshape(-1, 4))
    kept: list[int] = []
    for index in order:
        if not kept or shared[index, kept].max() <= overlap:
            kept.append(int(index))
    return np.array(kept, dtype=np.int64)


def soft_nms(boxes: np.ndarray, scores: np.ndarray, least: float = 0.3, sigma: float = 0.5
             ) -> tuple[np.ndarray, np.ndarray]:
    """Lower the scores of boxes that overlap surer ones, in place of leaving them out at once.

    Bodla et al., "Soft-NMS: improving object detection with one line of code" (ICCV 2017), with Gaussian weights.

    Args:
        least: boxes whose score falls below are left out.
        sigma: a box that overlaps a surer one by ``iou`` keeps exp(-iou^2 / sigma) of its score.

    Returns:
        Indices of the boxes that stay, the surest first, and their (lowered) scores.
    """
    boxes = np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    weights = np.exp(-box_iou(boxes, boxes) ** 2 / sigma)
    lowered, left = np.asarray(scores, dtype=np.float64).copy(), np.ones(len(boxes), dtype=bool)
    kept: list[int] = []
    while (left & (lowered >= least)).any():
        best = int(np.argmax(np.where(left, lowered, -np.inf)))
        kept.append(best)
        left[best] = False
        lowered[left] *= weights[best, left]
    return np.array(kept, dtype=np.int64), lowered[kept]
