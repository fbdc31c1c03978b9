"""Surface normals."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize
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
        return {'normal': F.normalize(resize(F.normalize(maps, dim=0), size), dim=0)}
