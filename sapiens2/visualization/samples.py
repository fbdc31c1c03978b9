"""What a network is given of a sample, beside the targets that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
import torch

from sapiens2.datasets.metainfo import COCO17_NAMES
from sapiens2.structures import DataSample
from sapiens2.visualization.layout import beside
from sapiens2.visualization.maps import outline_mask
from sapiens2.visualization.pictures import (DRAWABLE_FIELDS, at_size_of, channels_last, draw_field, draw_people,
                                             drawable)
from sapiens2.visualization.text import put_text, text_size


def draw_sample(inputs: torch.Tensor, sample: DataSample, dataset_meta: Mapping[str, Any],
                points: Optional[tuple[np.ndarray, np.ndarray, np.ndarray]] = None,
                source: Optional[np.ndarray] = None) -> np.ndarray:
    """One BGR picture: the network's input, then each target drawn, in a row.

    Args:
        inputs: (3, H, W) uint8 BGR.
        sample: its ``gt_fields`` are drawn over the input, shrunk where they are smaller, its ``eval_fields`` over
            ``source``.
        dataset_meta: names, links and colours of key points, or of classes.
        points: (1, K, 2) x, y, pixels of the input, and twice (1, K), positive where labelled, and where hidden.
        source: (H, W, 3) BGR picture of the size of ``eval_fields``.
    """
    picture = np.ascontiguousarray(inputs.numpy().transpose(1, 2, 0))
    pictures = [picture]
    if points is not None:
        pictures.append(_draw_points(picture, *points, dataset_meta))
    for fields, image in ((sample.get('gt_fields'), picture), (sample.get('eval_fields'), source)):
        if fields is None or image is None:
            continue
        # The depth of a point map is its third channel, so one picture of it is enough.
        names = [name for name in DRAWABLE_FIELDS if name in fields and not (name == 'depth' and 'pointmap' in fields)]
        image = at_size_of(fields, image)
        pictures += [draw_field(name, image, drawable(fields, name), True, dataset_meta) for name in names]
        if 'mask' in fields:
            pictures.append(outline_mask(image, channels_last(fields.mask.numpy())))
    return beside(pictures, gap=max(2, picture.shape[1] // 50))


def _draw_points(picture: np.ndarray, points: np.ndarray, visible: np.ndarray, hidden: np.ndarray,
                 meta: Mapping[str, Any]) -> np.ndarray:
    """Skeleton and points, with the names of the body's; hundreds of others would hide the picture.

    A name for which there is no room beside its point is left out.
    """
    drawn = draw_people(picture, {'keypoints': points, 'keypoint_scores': visible, 'keypoints_hidden': hidden},
                        dataset_meta=meta)
    size = max(9, round(max(picture.shape[:2]) / 48))
    named = COCO17_NAMES if len(meta['keypoint_names']) > 40 else meta['keypoint_names']
    shown = [(name.replace('_', ' '), xy) for name, xy, seen in zip(meta['keypoint_names'], points[0], visible[0])
             if seen > 0 and name in named]
    free = np.ones(picture.shape[:2], dtype=bool)
    for _, (x, y) in shown:  # a name must not hide another point
        free[max(0, round(float(y)) - 3):max(0, round(float(y)) + 3),
             max(0, round(float(x)) - 3):max(0, round(float(x)) + 3)] = False
    for text, (x, y) in shown:
        width, height = text_size(text, size)
        x, y = round(float(x)), round(float(y))
        beside_it = ((x + size // 2, y - height // 2), (x - width - size // 2, y - height // 2),
                     (x - width // 2, y - height - size // 2), (x - width // 2, y + size // 2))
        for left, top in beside_it:
            space = free[max(0, top):max(0, top + height), max(0, left):max(0, left + width)]
            if space.shape == (height, width) and space.all():
                space[:] = False
                # A shadow keeps it legible on any ground.
                put_text(drawn, text, (left + 1, top + 1), size, (0, 0, 0))
                put_text(drawn, text, (left, top), size, (255, 255, 255))
                break
    return drawn
