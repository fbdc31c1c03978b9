"""Depth up to scale and shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


@MODELS.register_module()
class DepthHead(UpsampleHead):
    """One value a pixel that grows with the distance from the camera.

    Scale and shift of each picture are free: from one picture alone, a person twice as far through a lens twice as long
    looks the same. Losses may ask for ``pred`` (no unit), ``target`` (metres along the optical axis), both
    (B, 1, H, W), ``mask`` (B, 1, H, W) and ``names``. Predicts ``depth`` (1, H, W), no unit.

    Args:
        args, kwargs: of ``UpsampleHead``.
    """

    field = 'depth'

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The trunk ends in three values.
        self.conv_depth = nn.Conv2d(self.conv_depth.in_channels, 1, kernel_size=1)

    def target_getters(self, output: Tensor, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        getters = super().target_getters(output, data_samples)
        return {**getters, 'target': lambda: self.stack(data_samples, self.field, tuple(output.shape[1:]), output)}

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        return {'depth': resize(maps, size)}
