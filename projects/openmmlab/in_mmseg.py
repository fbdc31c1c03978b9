"""For configs of MMSegmentation: the decoder of sapiens2 as a head, and data sets with its 29 classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmseg.datasets import BaseSegDataset
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from mmseg.registry import DATASETS, MODELS
from torch import Tensor

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.models.heads import SegHead

_TABLE = load_metainfo('seg29')


@DATASETS.register_module()
class Sapiens29Dataset(BaseSegDataset):
    """Pictures with labels of 29 classes, such as ``sapiens2 synth`` writes; the arguments are its base's."""

    METAINFO = dict(classes=tuple(_TABLE['classes']), palette=_TABLE['palette'])


@MODELS.register_module()
class Sapiens2SegHead(BaseDecodeHead):
    """The layers of ``SegHead`` with losses and predictions of MMSegmentation.

    Args:
        in_channels: channels C of the feature map that ``in_index`` of the base class chooses, the last by default.
        num_classes: classes, background included.
        network: other arguments of ``SegHead``.
        kwargs: of ``BaseDecodeHead``.
    """

    def __init__(self, in_channels: int, network: dict[str, Any], num_classes: int = 29, **kwargs: Any) -> None:
        super().__init__(in_channels, channels=1, num_classes=num_classes, dropout_ratio=0.0, init_cfg=None, **kwargs)
        del self.conv_seg  # the last layer of the network below takes its place
        self.network = SegHead(in_channels, num_classes=num_classes, **network)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Feature maps to logits (B, classes, H, W)."""
        return self.network([self._transform_inputs(inputs)])
