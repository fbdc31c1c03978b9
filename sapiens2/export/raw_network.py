"""What is exported: images in, the decoder's raw outputs out, with shapes and tables that are fixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from sapiens2.models.layers import SelfAttention

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
def fixed_rotations(backbone: nn.Module, in_float32: bool = False) -> Iterator[None]:
    """Let ``backbone`` look its rotary tables up, for images of its ``img_size``.

    Args:
        backbone: any; one without rotary tables is left as it is.
        in_float32: use no bf16, in which the released networks rotate and which other runtimes lack or round in their
            own way. What is rounded to bf16 still is, by float32 arithmetic: a network that was trained with that
            rounding gives other values without it.
    """
    rope = getattr(backbone, 'rope_embed', None)
    if rope is None:
        yield
        return
    cos, sin = (table.detach() for table in rope(*(side // backbone.size_multiple for side in backbone.img_size)))
    rounded = in_float32 and cos.dtype == torch.bfloat16
    backbone.rope_embed = FixedRotations(cos.float(), sin.float()) if rounded else FixedRotations(cos, sin)
    attentions = [module for module in backbone.modules() if isinstance(module, SelfAttention)] if rounded else []
    for module in attentions:
        module.rotate = rotate_rounded
    try:
        yield
    finally:
        backbone.rope_embed = rope
        for module in attentions:
            del module.rotate


def rotate_rounded(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """What ``apply_rotary`` gives for tables in bf16, of these tables in float32."""
    half = x.shape[-1] // 2
    first, second = round_to_bf16(x.float()).split(half, dim=-1)
    cos, sin = cos[..., None, :half], sin[..., None, :half]
    return round_to_bf16(torch.cat((
        round_to_bf16(first * cos) - round_to_bf16(second * sin),
        round_to_bf16(second * cos) + round_to_bf16(first * sin)), dim=-1)).to(x.dtype)


def round_to_bf16(x: Tensor) -> Tensor:
    """float32 values with the eight digits of bf16 (Dekker's splitting, Numerische Mathematik 18, 1971)."""
    scaled = x * (2**16 + 1)
    return scaled - (scaled - x)
