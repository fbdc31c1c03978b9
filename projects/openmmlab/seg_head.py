"""Decode heads of MMSegmentation with the losses, predictions and metrics of sapiens2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch.nn.functional as F
from torch import Tensor

from projects.openmmlab.build import build_part
from sapiens2.models.heads import SegHead
from sapiens2.models.heads.base_head import LossConfig
from sapiens2.models.heads.dense_head import DenseHead
from sapiens2.registry import MODELS


@MODELS.register_module()
class OpenMMLabSegHead(DenseHead):
    """Logits by a decode head of MMSegmentation, at the size of the network input.

    What losses may ask for and what is predicted is as in ``SegHead``; the losses of the head itself are not used.

    Args:
        in_channels: channels C of the last feature map; an estimator fills it in.
        head: with its package, ``dict(type='mmseg.SegformerHead', ...)``; its ``num_classes`` are the classes.
        output_stride: pixels of the network input along a side of a cell of its logits, which are resized by so much.
        loss_decode: as in ``BaseHead``.
    """

    test_options = SegHead.test_options
    target_getters = SegHead.target_getters
    postprocess = SegHead.postprocess

    def __init__(self, in_channels: int, head: dict[str, Any], output_stride: int = 4,
                 loss_decode: Optional[LossConfig] = None) -> None:
        super().__init__(in_channels, loss_decode, init_cfg=[])  # the head knows its initial values
        self.head, self.output_stride = build_part(head), output_stride

    def forward(self, feats: Sequence[Tensor]) -> Tensor:
        """Feature maps, all that the head takes, to logits (B, classes, H, W)."""
        return F.interpolate(self.head(feats), scale_factor=self.output_stride, mode='bilinear', align_corners=False)
