"""Albedo: the colour of surfaces without light and shadow."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize
from sapiens2.models.layers.decoder import ChannelRMSNorm
from sapiens2.registry import MODELS


@MODELS.register_module()
class AlbedoHead(UpsampleHead):
    """RGB in [0, 1].

    Losses may ask for ``pred`` (unbounded), ``target`` (B, 3, H, W), ``mask`` (B, 1, H, W) and ``names``. Predicts
    ``albedo`` (3, H, W), clamped.
    """

    field = 'albedo'
    norm = ChannelRMSNorm

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        return {'albedo': resize(maps, size).clamp_(0, 1)}
