"""Last step of every pipeline."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import torch
from mmengine.structures import BaseDataElement, InstanceData

from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import FIELDS, Results
from sapiens2.registry import TRANSFORMS
from sapiens2.structures.data_sample import DataSample

_META = ('sample_id', 'img_path', 'img_id', 'ori_shape', 'img_shape', 'padding', 'flip', 'input_center', 'input_scale')
_INSTANCE = ('bboxes', 'bbox_scores', 'keypoints', 'keypoints_visible', 'ann_id', 'area')
_TINY = 1e-12
_TARGETS = (*(name for name in FIELDS if name != 'img'), 'pointmap', 'scale', 'K', 'heatmaps', 'keypoint_weights')


@TRANSFORMS.register_module()
class PackInputs(Step):
    """Give ``dict(inputs=picture, data_samples=DataSample)``; shapes and units as ``DataSample`` says.

    ``inputs`` is a (3, H, W) uint8 BGR tensor. Normals, shortened by resampling, are made unit vectors again.
    """

    needs = ('img',)

    def apply(self, results: Results) -> dict[str, Any]:
        """Turn ``results`` into what a batch is made of."""
        sample = DataSample(metainfo={name: _plain(results[name]) for name in _META if name in results})
        if 'bboxes' in results:
            sample.gt_instances = InstanceData(
                **{name: torch.as_tensor(results[name]) for name in _INSTANCE if name in results})
        targets = _pack_fields(results)
        if targets:
            sample.gt_fields = BaseDataElement(**targets)
        if 'eval_fields' in results:
            sample.eval_fields = BaseDataElement(**_pack_fields(results['eval_fields']))
        return {'inputs': _channels_first(results['img']), 'data_samples': sample}


def _plain(value: Any) -> Any:
    """Small arrays as tuples of numbers, so that meta information compares and prints."""
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value


def _channels_first(raster: np.ndarray) -> torch.Tensor:
    """(H, W) or (H, W, C) as a (C, H, W) tensor."""
    if raster.ndim == 2:
        return torch.from_numpy(np.ascontiguousarray(raster))[None]
    planes = raster.transpose(2, 0, 1)
    if not planes.flags.c_contiguous:
        planes = np.empty(planes.shape, raster.dtype)
        cv2.split(raster, list(planes))  # much faster than NumPy's copy
    return torch.from_numpy(planes)


def _pack_fields(fields: Results) -> dict[str, torch.Tensor]:
    return {name: _pack_field(name, fields[name]) for name in _TARGETS if name in fields}


def _pack_field(name: str, array: np.ndarray) -> torch.Tensor:
    if name == 'sem_seg':
        return torch.from_numpy(np.ascontiguousarray(array)).long()
    if name not in FIELDS and name != 'pointmap':
        return torch.from_numpy(np.ascontiguousarray(array))
    tensor = _channels_first(array)
    if name == 'mask':
        return tensor.bool()
    return torch.from_numpy(_unit(tensor.numpy())) if name == 'normal' else tensor


def _unit(vectors: np.ndarray) -> np.ndarray:
    """(3, H, W) vectors at length 1; zero stays zero."""
    # OpenCV takes a third of the time of NumPy or torch here; not cv2.magnitude, whose last bit depends on where in
    # memory the arrays lie.
    x, *others = vectors
    square = cv2.multiply(x, x)
    for plane in others:
        square = cv2.accumulateSquare(plane, square)
    length = cv2.max(cv2.sqrt(square), _TINY)
    unit = np.empty_like(vectors)
    for plane, result in zip(vectors, unit):
        cv2.divide(plane, length, dst=result)
    return unit
