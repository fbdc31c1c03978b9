"""One picture for whatever a task predicts: the map from field names to drawing functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import cv2
import numpy as np
import torch
from mmengine.structures import BaseDataElement
from torch import Tensor

from sapiens2.datasets.metainfo import TABLE_OF_COUNT, load_metainfo
from sapiens2.utils.suggest import UnknownNameError, unknown_name
from sapiens2.visualization.layout import beside
from sapiens2.visualization.maps import (
    depth_bar, depth_range, depth_to_bgr, distinct_colors, label_legend, normals_to_bgr, overlay_labels, unit_to_bgr)
from sapiens2.visualization.pose import draw_pose

def channels_last(array: np.ndarray) -> np.ndarray:
    """A field as data samples hold it, (C, H, W), as (H, W, C); (1, H, W) and (H, W) as (H, W)."""
    if array.ndim == 2:
        return array
    return array[0] if array.shape[0] == 1 else array.transpose(1, 2, 0)


def raster_size(fields: BaseDataElement) -> Optional[tuple[int, int]]:
    """(H, W) of the rasters of a data sample's ``fields``, None if it has none."""
    name = next((name for name in (*DRAWABLE_FIELDS, 'mask') if name in fields), None)
    return None if name is None else tuple(fields.get(name).shape[-2:])


def at_size_of(fields: BaseDataElement, image: np.ndarray) -> np.ndarray:
    """``image`` (H, W, 3) shrunk to the size of ``fields``, which those of a network with a smaller output have."""
    size = raster_size(fields) or image.shape[:2]
    return image if image.shape[:2] == size else cv2.resize(image, size[::-1], interpolation=cv2.INTER_AREA)


def drawable(fields: BaseDataElement, name: str, mask: Optional[Tensor] = None) -> np.ndarray:
    """A field as ``draw_field`` takes it: (H, W, C) or (H, W), zero outside the mask.

    There a target may hold anything, is not trained on, and would spread the colours of depth. Labels have no mask.

    Args:
        fields: of a data sample, (C, H, W) tensors.
        name: one of ``DRAWABLE_FIELDS``.
        mask: (1, H, W) bool; default: that of ``fields``, if it has one.
    """
    value = fields.get(name)
    mask = fields.get('mask') if mask is None else mask
    if mask is not None and name != 'sem_seg':
        value = torch.where(mask.to(value.device) > 0, value, 0)
    return channels_last(value.detach().cpu().numpy())


def point_table(count: int, dataset_meta: Optional[Mapping[str, Any]] = None) -> Mapping[str, Any]:
    """Names, links and colours of ``count`` key points: those of ``dataset_meta`` if it has as many.

    Raises:
        ValueError: if there is no table of so many points.
    """
    if dataset_meta and len(dataset_meta.get('keypoint_names', ())) == count:
        return dataset_meta
    if count not in TABLE_OF_COUNT:
        raise ValueError(f'there is no table of names and links for {count} key points; known: '
                         f'{", ".join(str(known) for known in TABLE_OF_COUNT)}. Give one as dataset_meta')
    return load_metainfo(TABLE_OF_COUNT[count])


def class_table(dataset_meta: Optional[Mapping[str, Any]] = None) -> tuple[Sequence[str], Sequence[Sequence[int]]]:
    """Names and RGB colours of the classes: those of ``dataset_meta`` if it has any, else the project's 29.

    Classes without colours get some of their own.
    """
    if not dataset_meta or 'classes' not in dataset_meta:
        dataset_meta = load_metainfo('seg29')
    classes = dataset_meta['classes']
    return classes, dataset_meta.get('palette', distinct_colors(len(classes)))


def draw_people(
        image: np.ndarray, people: Mapping[str, np.ndarray], score_thr: float = 0.3,
        dataset_meta: Optional[Mapping[str, Any]] = None) -> np.ndarray:
    """``image`` (H, W, 3) BGR with the skeletons of all people.

    Args:
        people: ``keypoints`` (people, K, 2), ``keypoint_scores`` (people, K) and, if boxes are to be drawn,
            ``bboxes`` (people, 4) x1, y1, x2, y2; pixels of ``image``. ``keypoints_hidden`` (people, K), positive for
            points that are drawn hollow.
    """
    keypoints = people['keypoints']
    if not len(keypoints):
        return image.copy()
    return draw_pose(image, keypoints, people['keypoint_scores'], point_table(keypoints.shape[1], dataset_meta),
                     people.get('bboxes'), score_thr, hidden=people.get('keypoints_hidden'))


def _label_picture(
        image: np.ndarray, labels: np.ndarray, legend: bool,
        dataset_meta: Optional[Mapping[str, Any]]) -> np.ndarray:
    classes, palette = class_table(dataset_meta)
    picture = overlay_labels(image, labels, palette)
    return beside([picture, label_legend(labels, classes, palette, len(picture))]) if legend else picture


def _depth_picture(depth: np.ndarray, legend: bool) -> np.ndarray:
    near, far = depth_range(depth)
    colors = depth_to_bgr(depth, near, far)
    return beside([colors, depth_bar(near, far, len(depth))]) if legend else colors


def draw_field(
        field: str, image: np.ndarray, value: np.ndarray, legend: bool = True,
        dataset_meta: Optional[Mapping[str, Any]] = None) -> np.ndarray:
    """BGR picture of one dense field; labels lie over ``image``, other fields stand alone.

    Args:
        field: one of ``DRAWABLE_FIELDS``.
        image: (H, W, 3) uint8 BGR.
        value: (H, W) for ``sem_seg`` and ``depth``, (H, W, 3) otherwise, units as in a data sample.
        legend: add the classes' names, or the depths in metres, at the right.
        dataset_meta: ``classes`` and ``palette``, see ``class_table``.
    """
    if field not in DRAWABLE_FIELDS:
        raise UnknownNameError(unknown_name(field, DRAWABLE_FIELDS, 'field that can be drawn'))
    return DRAWABLE_FIELDS[field](image, value, legend, dataset_meta)


# The fields of a data sample that can be drawn, in the order in which they are shown, and what draws each: a function
# of the arguments of ``draw_field`` but the first. Projects may add theirs.
DRAWABLE_FIELDS: dict[str, Callable[..., np.ndarray]] = {
    'sem_seg': _label_picture,
    'normal': lambda image, value, legend, meta: normals_to_bgr(value),
    'depth': lambda image, value, legend, meta: _depth_picture(value, legend),
    'pointmap': lambda image, value, legend, meta: _depth_picture(value[..., 2], legend),
    'albedo': lambda image, value, legend, meta: unit_to_bgr(value),
}
