"""Drawing of people's boxes, skeletons and key points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.visualization.text import Color

# Coordinates are handed to OpenCV in 1/16 of a pixel.
_SHIFT = 4
# Radius of a point and width of a line over the extent of the part that it belongs to, the whole person for the
# body: the face has 238 points, the body 17. Parts listed later are drawn later.
_RADIUS = {'body': 0.008, 'foot': 0.03, 'head': 0.04, 'left_hand': 0.02, 'right_hand': 0.02, 'extra': 0.006,
           'face': 0.007}
_LINE_WIDTH = {'body': 0.009, 'head': 0.035, 'left_hand': 0.022, 'right_hand': 0.022}
_DRAWING_ORDER = {part: order for order, part in enumerate(_RADIUS)}
_BOX_COLOR: Color = (200, 200, 200)


def _fixed(value: float) -> int:
    return int(round(value * (1 << _SHIFT)))


def _point(xy: np.ndarray) -> tuple[int, int]:
    return _fixed(float(xy[0])), _fixed(float(xy[1]))


def _extent(points: np.ndarray) -> float:
    """Diagonal of the bounding box of (n, 2) points, in pixels; 0 when there are none."""
    return float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def _bgr(rgb: Sequence[int]) -> Color:
    return int(rgb[2]), int(rgb[1]), int(rgb[0])


def _part_of_point(meta: Mapping[str, Any]) -> list[str]:
    parts = ['extra'] * len(meta['keypoint_names'])
    for group, members in meta['groups'].items():
        for index in members:
            parts[index] = group
    # Nose, eyes and ears come first in COCO's order. A wrist closes the body's chain, whatever group lists it.
    for order, index in enumerate(meta['coco17_indices']):
        parts[index] = 'head' if order < 5 else 'body'
    return parts


def _part_of_line(first: str, second: str) -> str:
    """A hand's lines start at the wrist, which is of the body; lines from head to shoulder are of the body."""
    for hand in ('left_hand', 'right_hand'):
        if hand in (first, second):
            return hand
    return 'head' if first == second == 'head' else 'body'


def _line(image: np.ndarray, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
    """A line of any width with round ends; OpenCV smooths polygons and circles but no width below one pixel."""
    if width < 1.5:
        cv2.line(image, _point(start), _point(end), color, 1, cv2.LINE_AA, _SHIFT)
        return
    along = end - start
    length = float(np.linalg.norm(along))
    if length > 0:
        side = np.array([-along[1], along[0]]) / length * (width / 2)
        corners = np.array([_point(start + side), _point(end + side), _point(end - side), _point(start - side)])
        cv2.fillConvexPoly(image, corners, color, cv2.LINE_AA, _SHIFT)
    for tip in (start, end):
        cv2.circle(image, _point(tip), _fixed(width / 2), color, cv2.FILLED, cv2.LINE_AA, _SHIFT)


def _draw_person(
        canvas: np.ndarray, keypoints: np.ndarray, visible: np.ndarray, hidden: np.ndarray, meta: Mapping[str, Any],
        parts: Sequence[str]) -> None:
    """Lines and points of one person, in place, sized by what is visible of the person; hidden points are hollow."""
    part_of = np.array(parts)
    whole = _extent(keypoints[visible])
    extents = {part: _extent(keypoints[visible & (part_of == part)]) for part in _RADIUS}
    extents['body'] = extents['extra'] = whole
    for (start, end), rgb in zip(meta['skeleton_links'], meta['skeleton_link_colors']):
        if visible[start] and visible[end]:
            part = _part_of_line(parts[start], parts[end])
            width = float(np.clip(_LINE_WIDTH[part] * extents[part], 1, 0.012 * whole + 1))
            _line(canvas, keypoints[start], keypoints[end], width, _bgr(rgb))
    for index in sorted(np.flatnonzero(visible), key=lambda i: _DRAWING_ORDER[parts[i]]):
        part = parts[index]
        radius = float(np.clip(_RADIUS[part] * extents[part], 0.7, 0.009 * whole + 0.7))
        fill, edge = _bgr(meta['keypoint_colors'][index]), (255, 255, 255)
        if hidden[index]:
            fill, edge, radius = edge, fill, radius + 0.7
        if radius > 2 or hidden[index]:
            cv2.circle(canvas, _point(keypoints[index]), _fixed(radius + max(0.75, 0.25 * radius)), edge, cv2.FILLED,
                       cv2.LINE_AA, _SHIFT)
        cv2.circle(canvas, _point(keypoints[index]), _fixed(radius), fill, cv2.FILLED, cv2.LINE_AA, _SHIFT)


def draw_pose(
        image: np.ndarray, keypoints: np.ndarray, scores: np.ndarray, meta: Mapping[str, Any],
        boxes: Optional[np.ndarray] = None, score_thr: float = 0.3, alpha: float = 0.85,
        hidden: Optional[np.ndarray] = None) -> np.ndarray:
    """A copy of ``image`` with the skeletons of all people.

    Line widths and point sizes follow the size of each person and of its hands and face in the picture.

    Args:
        image: (H, W, 3) uint8 BGR.
        keypoints: (people, K, 2) x, y in pixels of ``image``; points that are not finite are left out.
        scores: (people, K); points below ``score_thr`` are left out.
        meta: table of the K points, ``sapiens2.datasets.metainfo.load_metainfo``.
        boxes: (people, 4) x1, y1, x2, y2 in pixels of ``image``, drawn thinly.
        alpha: opacity of lines and points.
        hidden: (people, K), true where a point cannot be seen; it is drawn hollow.
    """
    canvas = image.copy()
    parts = _part_of_point(meta)
    largest = 16 * max(image.shape[:2])
    hidden = np.zeros(np.shape(scores)) if hidden is None else hidden
    for points, point_scores, unseen in zip(np.asarray(keypoints, dtype=np.float64), np.asarray(scores), hidden):
        # OpenCV's fixed-point coordinates overflow far outside the picture.
        near = np.isfinite(points).all(axis=-1) & (np.abs(np.nan_to_num(points)) < largest).all(axis=-1)
        _draw_person(canvas, points, near & (point_scores >= score_thr), unseen, meta, parts)
    drawn = cv2.addWeighted(canvas, alpha, image, 1 - alpha, 0)
    if boxes is not None and len(boxes):
        width = max(1, round(max(image.shape[:2]) / 900))
        for box in np.clip(np.asarray(boxes, dtype=np.float64), -largest, largest):
            cv2.rectangle(drawn, _point(box[:2]), _point(box[2:]), _BOX_COLOR, width, cv2.LINE_AA, _SHIFT)
    return drawn
