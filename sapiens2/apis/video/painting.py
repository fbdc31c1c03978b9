"""Pictures of results for films: all of one size, without what changes from frame to frame beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapiens2.apis.video.smoothing import ResultSmoother
from sapiens2.visualization.layout import beside
from sapiens2.visualization.maps import depth_range, depth_to_bgr
from sapiens2.visualization.pictures import draw_field, draw_people
from sapiens2.visualization.text import PAPER, put_text, text_size

_INK = (60, 60, 60)


def film_picture(image: np.ndarray, result: Mapping[str, Any], score_thr: float, smoother: ResultSmoother,
                 side_by_side: bool) -> np.ndarray:
    """(H, W, 3) BGR picture of one frame, twice as wide with the frame at its left.

    Args:
        image: (H, W, 3) uint8 BGR.
        result: as an inferencer makes it; with an error the frame stands for its picture.
        score_thr: key points with a lower score are not drawn.
    """
    picture = image if result['error'] is not None else _picture(image, result, score_thr, smoother)
    return beside([image, picture]) if side_by_side else picture


def _picture(image: np.ndarray, result: Mapping[str, Any], score_thr: float, smoother: ResultSmoother) -> np.ndarray:
    if result['task'] == 'pose':
        drawn = draw_people(image, result, score_thr, result['dataset_meta'])
        for box, track in zip(result['bboxes'], result['track_ids'].tolist()):
            _label(drawn, box, f'{track}')
        return drawn
    if result['task'] == 'seg':
        return draw_field('sem_seg', image, result['sem_seg'], legend=False, dataset_meta=result['dataset_meta'])
    if result['task'] == 'pointmap':
        depth = result['pointmap'][..., 2]
        return depth_to_bgr(depth, *smoother.depth_range(*depth_range(depth), result['time_s']))
    return draw_field(result['task'], image, result[result['task']])


def _label(image: np.ndarray, box: np.ndarray, text: str) -> None:
    """The id of a person on a light ground in the upper left corner of the box."""
    size = int(np.clip(max(image.shape[:2]) / 45, 11, 60))
    width, height = text_size(text, size)
    pad = max(2, size // 4)
    left = int(np.clip(box[0], 0, max(image.shape[1] - width - 2 * pad, 0)))
    top = int(np.clip(box[1], 0, max(image.shape[0] - height - pad, 0)))
    image[top:top + height + pad // 2, left:left + width + 2 * pad] = PAPER
    put_text(image, text, (left + pad, top), size, _INK)
