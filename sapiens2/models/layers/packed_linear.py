"""Linear layers for many chunks of tokens on a CPU, through oneDNN.

A matrix product first puts the weight into the order in which it is multiplied. Here that happens once for all chunks,
and what follows a product (SiLU, a factor, a sum) happens before the result goes to memory. The operators are those
that ``torch.compile`` uses on x86 processors. The reordered copies live as long as one block computes, so the whole
network needs the memory of one block more; weights in int8 turn into floating-point numbers on the same way.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sapiens2.models.layers.ffn import SwiGLU
from sapiens2.models.layers.int8_linear import Int8Linear


class PackedLinear:
    """``x @ weight.T + bias`` for chunks x (..., C) of at most ``tokens``; weight (out, C), bias (out,)."""

    def __init__(self, weight: Tensor, bias: Tensor, tokens: int) -> None:
        self.weight, self.bias = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), tokens), bias

    def __call__(self, x: Tensor, activation: str = 'none') -> Tensor:
        """The product, then 'none' or 'swish' (SiLU)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, activation, [], '')

    def combined(self, x: Tensor, operation: str, other: Tensor) -> Tensor:
        """The product, then 'mul' or 'add' with ``other`` of its shape."""
        return torch.ops.mkldnn._linear_pointwise.binary(x, other, self.weight, self.bias, operation)


class PackedSwiGLU:
    """``residual + ffn(x)`` for chunks x and residual (..., C) of at most ``tokens``."""

    def __init__(self, ffn: SwiGLU, tokens: int) -> None:
        weights, biases = ffn.w12.weight.chunk(2), ffn.w12.bias.chunk(2)
        self.gate, self.value = (PackedLinear(*half, tokens) for half in zip(weights, biases))
        self.w3 = PackedLinear(ffn.w3.weight, ffn.w3.bias, tokens)

    def __call__(self, x: Tensor, residual: Tensor) -> Tensor:
        gated = self.value.combined(x, 'mul', self.gate(x, 'swish'))
        return self.w3.combined(gated, 'add', residual)


def can_pack(module: nn.Module, dtype: torch.dtype) -> bool:
    """Whether all linear layers in ``module`` are plain ones (no adapter, no hook), of a dtype in which oneDNN is the
    fastest here."""
    if not torch.backends.mkldnn.is_available() or not torch.backends.mkldnn.enabled:
        return False
    if dtype == torch.float32:
        # With AVX2 alone the products that PyTorch takes otherwise are faster.
        if torch.backends.cpu.get_cpu_capability() != 'AVX512':
            return False
    elif dtype != torch.bfloat16 or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    linear = [layer for layer in module.modules() if isinstance(layer, (nn.Linear, Int8Linear))]
    return all(type(layer) in (nn.Linear, Int8Linear) and _dtype(layer) == dtype and layer.bias is not None
               and not (layer._forward_hooks or layer._forward_pre_hooks) for layer in linear)


def _dtype(layer: nn.Module) -> torch.dtype:
    return layer.dtype if isinstance(layer, Int8Linear) else layer.weight.dtype
