"""Multiply-adds and parameters, counted by fvcore on the meta device: no weights and no arithmetic, any size."""

from __future__ import annotations

import contextlib
import logging
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from fvcore.nn import FlopCountAnalysis
from fvcore.nn.jit_handles import conv_flop_count, get_shape
from torch import Tensor, nn

ATTENTION = 'aten::scaled_dot_product_attention'


@dataclass
class FlopReport:
    """Counts of one forward pass of one image.

    Attributes:
        parameters: number of parameters.
        total: multiply-adds of linear layers, convolutions and attention.
        attention: those of the products of queries with keys and of weights with values.
        modules: multiply-adds and parameters of each module by name, those of its children included.
    """

    parameters: int
    total: int
    attention: int
    modules: dict[str, tuple[int, int]] = field(default_factory=dict)


def attention_flop_count(inputs: list[Any], outputs: list[Any]) -> int:
    """Multiply-adds of attention of q (B, heads, N, D) to k (B, kv heads, M, D): two products of N x M x D a head."""
    batch, heads, tokens, dim = get_shape(inputs[0])
    return 2 * batch * heads * tokens * get_shape(inputs[1])[2] * dim


@contextlib.contextmanager
def _convolutions_by_shape(model: nn.Module) -> Iterator[Counter]:
    """Let convolutions return empty tensors of the right shape and count what they would have done.

    The tracer turns sizes into tensors, which the meta kernels of convolutions refuse.

    Yields:
        multiply-adds by module name, filled while the model runs.
    """
    counts: Counter = Counter()
    patched = []

    def replace(name: str, conv: nn.Module) -> None:
        transposed = isinstance(conv, nn.ConvTranspose2d)

        def forward(x: Tensor) -> Tensor:
            sides = []
            for axis, length in enumerate((int(x.shape[-2]), int(x.shape[-1]))):
                kernel, stride, pad, dilation = (
                    getattr(conv, key)[axis] for key in ('kernel_size', 'stride', 'padding', 'dilation'))
                reach = dilation * (kernel - 1)
                sides.append((length - 1) * stride - 2 * pad + reach + conv.output_padding[axis] + 1 if transposed else
                             (length + 2 * pad - reach - 1) // stride + 1)
            shape = [int(x.shape[0]), conv.out_channels, *sides]
            counts[name] += conv_flop_count([int(side) for side in x.shape], list(conv.weight.shape), shape, transposed)
            return x.new_empty(shape)

        conv.forward = forward
        patched.append(conv)

    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            replace(name, module)
    try:
        yield counts
    finally:
        for conv in patched:
            del conv.forward


def count_flops(model: nn.Module, img_size: tuple[int, int]) -> FlopReport:
    """Count one forward pass of ``model``, which lies on the meta device, on an image of ``img_size`` (H, W) pixels."""
    model.eval()
    inputs = torch.empty(1, 3, *img_size, device='meta')
    logging.getLogger('fvcore').setLevel(logging.ERROR)
    with warnings.catch_warnings(), _convolutions_by_shape(model) as convolutions:
        warnings.simplefilter('ignore')  # the tracer's remarks on sizes that become constants
        analysis = FlopCountAnalysis(model, inputs).set_op_handle(ATTENTION, attention_flop_count)
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        traced = analysis.by_module_and_operator()
        total = Counter({name: sum(counts.values()) for name, counts in traced.items()})
    for name, count in convolutions.items():
        parts = name.split('.')
        for depth in range(len(parts) + 1):
            total['.'.join(parts[:depth])] += count
    modules = {
        name: (math.floor(total[name]), sum(p.numel() for p in module.parameters()))
        for name, module in model.named_modules()
    }
    return FlopReport(
        parameters=modules[''][1], total=modules[''][0], attention=int(traced['']['scaled_dot_product_attention']),
        modules=modules)
