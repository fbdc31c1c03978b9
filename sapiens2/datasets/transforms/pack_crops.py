"""Last step of pretraining pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import torch

from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.structures.data_sample import DataSample

_META = ('sample_id', 'img_path', 'img_id', 'ori_shape', 'img_shape', 'token_size')


@TRANSFORMS.register_module()
class PackCrops(Step):
    """Give ``dict(inputs=dict(...), data_samples=DataSample)`` of one picture's crops.

    ``inputs`` holds global_crops (G, 3, H, W) uint8 BGR; local_crops (L, 3, h, w) likewise, if there are any; visible
    (G, n) int64, if tokens are masked. ``collate_crops`` makes batches of it.
    """

    needs = ('global_crops',)

    def apply(self, results: Results) -> dict[str, Any]:
        """Turn ``results`` into what a batch is made of."""
        inputs = {name: _channels_first(results[name]) for name in ('global_crops', 'local_crops') if name in results}
        if 'visible' in results:
            inputs['visible'] = torch.from_numpy(results['visible'])
        return {'inputs': inputs,
                'data_samples': DataSample(metainfo={name: results[name] for name in _META if name in results})}


def _channels_first(crops: Sequence[np.ndarray]) -> torch.Tensor:
    """Crops (H, W, 3) as one (crops, 3, H, W) tensor."""
    planes = np.empty((len(crops), 3, *crops[0].shape[:2]), np.uint8)
    for crop, place in zip(crops, planes):
        cv2.split(crop, list(place))  # much faster than NumPy's copy
    return torch.from_numpy(planes)
