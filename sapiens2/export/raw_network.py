"""What is exported: images in, the decoder's raw outputs out, with shapes and tables that are fixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

# Names of the decoder's outputs, in order.
OUTPUTS = {'pose': ('heatmaps',), 'seg': ('logits',), 'normal': ('normal',), 'pointmap': ('pointmap', 'scale'),
           'albedo': ('albedo',)}
INPUT = 'images'


class RawNetwork(nn.Module):
    """An estimator's backbone and decoder: (B, 3, H, W) to a tuple of float32 outputs.

    Args:
        model: the estimator.
        with_preprocessing: take uint8 RGB and normalise it here; else float32, normalised.
    """

    def __init__(self, model: nn.Module, with_preprocessing: bool = False) -> None:
        super().__init__()
        self.backbone, self.decode_head = model.backbone, model.decode_head
        self.with_preprocessing = with_preprocessing
        self.dtype = next(model.backbone.parameters()).dtype
        for name in ('mean', 'std'):
            self.register_buffer(name, getattr(model.data_preprocessor, name).clone(), persistent=False)

    @property
    def input_dtype(self) -> torch.dtype:
        return torch.uint8 if self.with_preprocessing else torch.float32

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        if self.with_preprocessing:
            images = (images.float() - self.mean) / self.std
        outputs = self.decode_head(self.backbone(images.to(self.dtype)))
        return tuple(output.float() for output in (outputs if isinstance(outputs, tuple) else (outputs,)))


class FixedRotations(nn.Module):
    """Cosines and sines of one grid, in place of the layer that computes them."""

    def __init__(self, cos: Tensor, sin: Tensor) -> None:
        super().__init__()
        self.register_buffer('cos', cos)
        self.register_buffer('sin', sin)

    def forward(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        return self.cos, self.sin


@contextmanager
def fixed_rotations(backbone: nn.Module, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Let ``backbone`` look its rotary tables up, for images of its ``img_size``, in ``dtype`` if one is given.

    Other runtimes lack cosines, sines and products in bf16, in which the released networks compute their rotations. The
    tables are the same in float32; only the products are no longer rounded.
    """
    rope = getattr(backbone, 'rope_embed', None)
    if rope is None:
        yield
        return
    cos, sin = (table.detach().to(dtype) for table in rope(*(side // backbone.size_multiple
                                                             for side in backbone.img_size)))
    backbone.rope_embed = FixedRotations(cos, sin)
    try:
        yield
    finally:
        backbone.rope_embed = rope
