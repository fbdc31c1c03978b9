"""Linear layers whose weights are held as int8 with one scale for each output channel.

The layer computes in the dtype that it had. torchao was tried: turning a network to int8 with it took several times as
long and more memory at its peak (see ``benchmarks/README.md``), and its weights have to be turned back to numbers in
floating point just like these before oneDNN multiplies them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LARGEST = 127
ROWS = 256  # that are turned at a time, which bounds the memory for it


class Int8Linear(nn.Module):
    """What ``linear`` does, with its weight (out, C) rounded."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        self.dtype, self.bias = weight.dtype, linear.bias
        # The smallest normal number in place of 0 leaves rows of zeros as they are.
        scale = weight.abs().amax(1, keepdim=True).float().div_(LARGEST).clamp_(min=torch.finfo(torch.float32).tiny)
        quantized = torch.empty_like(weight, dtype=torch.int8)
        for rows, part, factor in zip(quantized.split(ROWS), weight.split(ROWS), scale.split(ROWS)):
            rows.copy_((part / factor).round_())
        self.register_buffer('scale', scale)
        self.register_buffer('quantized', quantized)

    @property
    def weight(self) -> Tensor:
        """The weight (out, C) in ``dtype``, made anew each time."""
        return torch.mul(self.quantized, self.scale, out=self.scale.new_empty(self.quantized.shape, dtype=self.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) -> (..., out)."""
        return F.linear(x, self.weight, self.bias)


def to_int8(module: nn.Module) -> None:
    """Turn all linear layers inside ``module`` to int8, in place; it cannot be trained any more."""
    for child in list(module.modules()):
        for name, layer in child.named_children():
            if type(layer) is nn.Linear:
                setattr(child, name, Int8Linear(layer))
