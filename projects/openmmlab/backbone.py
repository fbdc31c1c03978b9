"""Backbones and necks of other OpenMMLab packages behind the interface of the backbones of sapiens2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch
from mmengine.model import BaseModule
from torch import Tensor

from projects.openmmlab.build import build_part
from sapiens2.registry import MODELS

Config = dict[str, Any]


@MODELS.register_module()
class OpenMMLabBackbone(BaseModule):
    """A backbone, and a neck if need be, of MMPose, MMSegmentation or MMPretrain.

    Width and stride are read off a run on an empty picture, so no config has to know them.

    Args:
        backbone: with its package, ``dict(type='mmpose.HRNet', ...)``; gives one feature map or several.
        img_size: (H, W) in pixels that the model is built for.
        neck: what stands between its maps and the head, with its package.
        index: the map that alone is passed on. None passes on all of them, of which heads of sapiens2 decode the last.
        init_cfg: MMEngine's initialisation.

    Raises:
        ValueError: if the type of a part lacks its package, or what it gives are no feature maps (B, C, h, w).
        ImportError: if the package is not installed.
    """

    def __init__(self,
                 backbone: Config,
                 img_size: Sequence[int],
                 neck: Optional[Config] = None,
                 index: Optional[int] = None,
                 init_cfg: Optional[Config] = None) -> None:
        super().__init__(init_cfg)
        self.backbone = build_part(backbone)
        self.neck = None if neck is None else build_part(neck)
        self.img_size, self.index = tuple(img_size), index
        for part in self.children():
            part.eval()  # the run below must not count in the statistics of norms
        # With gradient: without it attention takes a fast path that cannot run on the meta device.
        maps = self(torch.zeros(1, 3, *self.img_size))
        self.train()
        for features in maps:
            if features.ndim != 4:
                raise ValueError(f'{backbone["type"]} gives {tuple(features.shape)}, no feature map (B, C, h, w): set '
                                 "its out_type to 'featmap'")
        self.embed_dims = maps[-1].shape[1]
        # Pixels along a side of a cell of each map.
        self.strides = tuple(self.img_size[0] // features.shape[2] for features in maps)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """(B, 3, H, W) -> feature maps (B, C, h, w), in the order in which backbone or neck give them."""
        maps = self.backbone(x)
        if self.neck is not None:
            maps = self.neck(maps)
        maps = (maps,) if isinstance(maps, Tensor) else tuple(maps)
        return maps if self.index is None else (maps[self.index],)

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Depth of a parameter and number of depths, see ``VisionTransformer.get_layer_depth``.

        Backbones that do not tell the depth of their parameters count as one layer below neck and head.
        """
        own = f'{prefix}backbone.'
        if hasattr(self.backbone, 'get_layer_depth'):
            return self.backbone.get_layer_depth(param_name, own)
        return (0 if param_name.startswith(own) else 1), 2
