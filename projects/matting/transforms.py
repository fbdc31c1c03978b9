"""Steps of a matting pipeline: the person's own colours, new backgrounds, and packing."""

from __future__ import annotations

import os
from typing import Any, Union

import numpy as np
import torch
from mmengine.structures import BaseDataElement

from projects.matting.foreground import estimate_foreground
from sapiens2.datasets.transforms.base import RandomStep, Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.datasets.transforms.formatting import PackInputs
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import read_image
from sapiens2.utils.image_list import list_images
from sapiens2.utils.resample import cover


@TRANSFORMS.register_module()
class EstimateForeground(Step):
    """Add ``foreground`` (H, W, 3) float32 RGB in [0, 1], see ``estimate_foreground``.

    It belongs after the steps that change colours.
    """

    needs = ('img', 'alpha')

    def apply(self, results: Results) -> Results:
        """Add it to ``results``."""
        foreground = estimate_foreground(results['img'], results['alpha'])
        results['foreground'] = np.ascontiguousarray(foreground[..., ::-1]) / np.float32(255)
        return results


@TRANSFORMS.register_module()
class ComposeMatte(RandomStep):
    """Set the person before a random picture, cut to cover the whole.

    The new picture is an exact composition of ``foreground`` and ``alpha``, however rough the foreground is.

    Args:
        background_root: folder of pictures without people, sub-folders included; empty switches the step off.
        prob: how often.

    Raises:
        FileNotFoundError: if ``background_root`` holds no picture.
    """

    needs = ('img', 'alpha', 'foreground')

    def __init__(self, background_root: Union[str, os.PathLike] = '', prob: float = 0.5) -> None:
        super().__init__(prob if background_root else 0)
        self.paths = [str(file.path) for file in list_images([background_root])] if background_root else []

    def apply(self, results: Results) -> Results:
        """Change ``results['img']``."""
        path, place = self.paths[np.random.randint(len(self.paths))], np.random.random(2)
        background = cover(read_image(path), results['img'].shape[:2], *place)
        alpha, foreground = results['alpha'][..., None], results['foreground'][..., ::-1] * 255
        results['img'] = np.rint(alpha * foreground + (1 - alpha) * background).astype(np.uint8)
        return results


@TRANSFORMS.register_module()
class PackMatte(PackInputs):
    """``PackInputs`` that also packs ``alpha`` (1, H, W) and ``foreground`` (3, H, W)."""

    def apply(self, results: Results) -> dict[str, Any]:
        """Turn ``results`` into what a batch is made of."""
        packed = super().apply(results)
        sample = packed['data_samples']
        for part, fields in (('gt_fields', results), ('eval_fields', results.get('eval_fields', {}))):
            tensors = {name: _channels_first(fields[name]) for name in ('alpha', 'foreground') if name in fields}
            if tensors:
                setattr(sample, part, BaseDataElement(**{**dict(sample.get(part, {}).items()), **tensors}))
        return packed


def _channels_first(raster: np.ndarray) -> torch.Tensor:
    """(H, W) or (H, W, C) as a (C, H, W) tensor."""
    planes = raster[None] if raster.ndim == 2 else raster.transpose(2, 0, 1)
    return torch.from_numpy(np.ascontiguousarray(planes))
