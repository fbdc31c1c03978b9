"""Stages of decoders in chunks, so that of a large result only itself is held and not what leads to it.

A norm over each channel lets channels be made some at a time; a norm over the channels of each pixel, bands of rows.
Either way every value is made of the same numbers as in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sapiens2.models.layers.cpu_float32 import in_float32, needs_float32

# Values of a result, or of what a last layer reads, that are made at once: 64 MiB of float32.
CHUNK_VALUES = 2**24
# Fewer channels of a convolution at once leave vector units idle.
MIN_CHANNELS = 8

Part = tuple[int, slice]  # dimension of the result, and where in it


class DecoderStages(nn.Sequential):
    """[convolution, perhaps pixel shuffle, norm, SiLU], once or several times: (B, C, H, W) -> (B, C', H', W').

    Without gradient, stages with a large result run in chunks. So they do with gradient where ``with_cp`` is set: then
    each chunk is computed again in the backward pass, and only the results of stages are kept for it.
    """

    def __init__(self, *layers: nn.Module, with_cp: bool = False) -> None:
        super().__init__(*layers)
        self.with_cp = with_cp

    def forward(self, x: Tensor) -> Tensor:
        stage: list[nn.Module] = []
        for layer in self:
            stage.append(layer)
            if isinstance(layer, nn.SiLU):
                x = _run(stage, x, self.with_cp)
                stage = []
        return x


def last_layer(layer: nn.Module, x: Tensor) -> Tensor:
    """``layer``, which sees each pixel alone, of x (B, C, H, W); without gradient in bands of rows if x is large."""
    if torch.is_grad_enabled() or _has_to_be_whole(x) or x.numel() <= CHUNK_VALUES:
        return _whole([layer], x)
    rows = max(1, CHUNK_VALUES * x.shape[2] // x.numel())
    return _collect(((2, _part(start, rows, x.shape[2])) for start in range(0, x.shape[2], rows)), x.shape[2],
                    lambda part: _whole([layer], x[:, :, part[1]]))


def _run(stage: Sequence[nn.Module], x: Tensor, with_cp: bool) -> Tensor:
    recompute = with_cp and torch.is_grad_enabled()
    if (torch.is_grad_enabled() and not recompute) or _has_to_be_whole(x):
        return _whole(stage, x)
    parts, length, compute = _chunks(stage, x)
    if len(parts) == 1:
        return _whole(stage, x)
    if needs_float32(x):  # whole results stay bf16; bands of rows become float32 one by one
        stage = [in_float32(layer) for layer in stage]
        source = x.float() if compute is _channels else x
        return _collect(iter(parts), length, lambda part: compute(stage, source, part).to(x.dtype))
    if recompute:
        return torch.cat([checkpoint(compute, stage, x, part, use_reentrant=False) for part in parts], parts[0][0])
    return _collect(iter(parts), length, lambda part: compute(stage, x, part))


def _has_to_be_whole(x: Tensor) -> bool:
    """Whether somebody only looks at the operations and their shapes."""
    return x.device.type == 'meta' or torch.jit.is_tracing() or torch.compiler.is_compiling()


def _whole(stage: Sequence[nn.Module], x: Tensor) -> Tensor:
    if needs_float32(x):
        return _whole([in_float32(layer) for layer in stage], x.float()).to(x.dtype)
    for layer in stage:
        x = layer(x)
    return x


def _chunks(stage: Sequence[nn.Module], x: Tensor) -> tuple[list[Part], int, Callable[..., Tensor]]:
    """Parts of a stage's result, its length along their dimension, and the function that makes one; one part if it is
    small or the stage has layers that cannot be divided, an adapter for instance."""
    conv, *rest = stage
    shuffle = next((layer.upscale_factor for layer in rest if isinstance(layer, nn.PixelShuffle)), 1)
    if type(conv) not in (nn.Conv2d, nn.ConvTranspose2d) or conv._forward_hooks or conv._forward_pre_hooks:
        return [(1, slice(None))], 0, _channels
    strides = conv.stride
    height, width = (side * stride if isinstance(conv, nn.ConvTranspose2d) else -(-side // stride)
                     for side, stride in zip(x.shape[2:], strides))
    if any(isinstance(layer, nn.InstanceNorm2d) and not layer.affine for layer in rest):
        most = max(MIN_CHANNELS, CHUNK_VALUES // (len(x) * height * width))
        group = max(1, most // shuffle**2)
        length = conv.out_channels // shuffle**2
        return [(1, _part(start, group, length)) for start in range(0, length, group)], length, _channels
    if isinstance(conv, nn.Conv2d) and tuple(strides) == (1, 1):
        group = max(1, CHUNK_VALUES // (len(x) * conv.out_channels * width))
        return ([(2, _part(start, group, height)) for start in range(0, height, group)], height * shuffle, _rows)
    return [(1, slice(None))], 0, _channels


def _channels(stage: Sequence[nn.Module], x: Tensor, part: Part) -> Tensor:
    """Some channels of the stage's result."""
    conv, *rest = stage
    factor = next((layer.upscale_factor**2 for layer in rest if isinstance(layer, nn.PixelShuffle)), 1)
    chosen = slice(part[1].start * factor, part[1].stop * factor)
    bias = None if conv.bias is None else conv.bias[chosen]
    if isinstance(conv, nn.ConvTranspose2d):
        y = F.conv_transpose2d(x, conv.weight[:, chosen], bias, conv.stride, conv.padding, conv.output_padding)
    else:
        y = F.conv2d(x, conv.weight[chosen], bias, conv.stride, conv.padding)
    for layer in rest:
        y = F.instance_norm(y, eps=layer.eps) if isinstance(layer, nn.InstanceNorm2d) else layer(y)
    return y


def _rows(stage: Sequence[nn.Module], x: Tensor, part: Part) -> Tensor:
    """What some rows of ``x`` become; the convolution also reads the rows around them, zeros outside ``x``."""
    conv, *rest = stage
    reach = conv.kernel_size[0] // 2
    first, last = part[1].start - reach, part[1].stop + reach
    band = x[:, :, max(first, 0):last]
    band = F.pad(band.float() if needs_float32(band) else band, (0, 0, max(-first, 0), max(last - x.shape[2], 0)))
    return _whole(rest, F.conv2d(band, conv.weight, conv.bias, padding=(0, conv.padding[1])))


def _part(start: int, length: int, end: int) -> slice:
    return slice(start, min(start + length, end))


def _collect(parts: Iterator[Part], length: int, compute: Callable[[Part], Tensor]) -> Tensor:
    """Put the results of all parts, in order, into one tensor that has ``length`` along their dimension."""
    whole, place = None, 0
    for part in parts:
        piece = compute(part)
        if whole is None:
            shape = list(piece.shape)
            shape[part[0]] = length
            whole = piece.new_empty(shape)
        whole.narrow(part[0], place, piece.shape[part[0]]).copy_(piece)
        place += piece.shape[part[0]]
    return whole
