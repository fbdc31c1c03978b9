"""Alpha mattes, and the colours of what they cut out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


@MODELS.register_module()
class MattingHead(UpsampleHead):
    """Foreground F and opacity alpha of each pixel, of which the image is ``alpha * F + (1 - alpha) * background``.

    The raw output (B, 4, H, W) is three colours and the opacity before the sigmoid, in the names and the order of
    transformers' ``Sapiens2ForImageMatting``. Losses may ask for ``pred`` and ``target``, opacities (B, 1, H, W),
    ``pred_foreground`` and ``foreground``, RGB (B, 3, H, W), all in [0, 1], ``mask`` (B, 1, H, W), which is true
    everywhere, and ``names``. Predicts ``alpha`` (1, H, W) and ``foreground`` (3, H, W).

    Args:
        args, kwargs: of ``UpsampleHead``.
    """

    # The last layer is called conv_matting.
    field = 'matting'

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The trunk ends in three values.
        self.conv_matting = nn.Conv2d(self.conv_matting.in_channels, 4, kernel_size=1)

    def target_getters(self, output: Tensor, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        size = tuple(output.shape[2:])
        return {
            'pred': lambda: output[:, 3:].float().sigmoid(),
            'pred_foreground': lambda: output[:, :3].float().sigmoid(),
            'target': lambda: self.stack(data_samples, 'alpha', (1, *size), output),
            'foreground': lambda: self.stack(data_samples, 'foreground', (3, *size), output),
            'mask': lambda: torch.ones_like(output[:, :1], dtype=torch.bool),
        }

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        maps = resize(maps.sigmoid(), size).clamp_(0, 1)  # weights of a resize may add up to a little over 1
        return {'alpha': maps[3:], 'foreground': maps[:3]}
