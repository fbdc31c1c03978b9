"""Surface normals."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize_bands
from sapiens2.registry import MODELS


@MODELS.register_module()
class NormalHead(UpsampleHead):
    """Normals in the camera's frame (x right, y down, z forward).

    The output is not normalised: losses compare it as it is with unit vectors. Losses may ask for ``pred``, ``target``
    (B, 3, H, W), ``mask`` (B, 1, H, W) and ``names``. Predicts ``normal`` (3, H, W), unit vectors, before and after
    resizing.
    """

    field = 'normal'

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        maps = F.normalize(maps, dim=0)
        if maps.shape[1:] == size:
            return {'normal': maps}
        normal = maps.new_empty(3, *size)
        for rows, band in resize_bands(maps, size):
            normal[:, rows] = F.normalize(band, dim=0)
        return {'normal': normal}
