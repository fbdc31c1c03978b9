"""What the operations of a step cost: floating-point operations, bytes read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry

from sapiens2.planning.timeline import Phase

aten = torch.ops.aten
LAUNCH = 5e-6  # seconds that an operation takes at least; stated


def _attention(query: Tensor, key: Tensor, products: int) -> int:
    """Of (B, heads, N, D) and (B, kv heads, M, D): ``products`` matrix products of N x M x D a head."""
    batch, heads, tokens, dim = query.shape
    return products * 2 * batch * heads * tokens * key.shape[2] * dim


# Fused attention of a processor, as the step runs here. The backward pass computes the scores again.
FUSED: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu:
        lambda query, key, *args, **kwargs: _attention(query, key, 2),
    aten._scaled_dot_product_flash_attention_for_cpu_backward:
        lambda grad, query, key, *args, **kwargs: _attention(query, key, 5),
}


def count(func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> int:
    """Floating-point operations of matrix products, convolutions and attention; others count as none."""
    packet = func.overloadpacket
    if packet in FUSED:
        return FUSED[packet](*args, **kwargs)
    return flop_registry[packet](*args, **kwargs, out_val=out) if packet in flop_registry else 0


def moved(args: Any, kwargs: dict[str, Any], out: Any) -> int:
    """Bytes of the tensors that an operation reads and writes."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tree_iter((args, kwargs, out))
               if isinstance(tensor, Tensor))


@dataclass
class Operations:
    """Costs of all operations of a step, in order.

    Attributes:
        phase: ``Phase`` of each.
        repeated: whether it is done a second time, because its result was not kept.
        flops: floating-point operations, a multiply-add counts as two.
        half: whether those are of 16-bit numbers.
        bytes: read and written.
    """

    phase: list[int] = field(default_factory=list)
    repeated: list[bool] = field(default_factory=list)
    flops: list[int] = field(default_factory=list)
    half: list[bool] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)

    def add(self, phase: Phase, repeated: bool, flops: int, half: bool, size: int) -> None:
        """Note one."""
        for column, value in zip((self.phase, self.repeated, self.flops, self.half, self.bytes),
                                 (int(phase), repeated, flops, half, size)):
            column.append(value)

    def between(self, other: Operations, share: float) -> Optional[Operations]:
        """Costs at ``share`` of the way to another recording of the same operations; None if they are not the same."""
        if self.phase != other.phase or self.half != other.half:
            return None

        def mixed(first: list[int], second: list[int]) -> list[int]:
            return [round(a + share * (b - a)) for a, b in zip(first, second)]

        return Operations(self.phase, self.repeated, mixed(self.flops, other.flops), self.half,
                          mixed(self.bytes, other.bytes))

    def total(self, phase: Optional[Phase] = None, repeated: Optional[bool] = None) -> int:
        """Floating-point operations, of one phase, or of those that are repeated or not."""
        chosen = np.ones(len(self.flops), bool)
        if phase is not None:
            chosen &= np.array(self.phase) == phase
        if repeated is not None:
            chosen &= np.array(self.repeated) == repeated
        return int(np.array(self.flops)[chosen].sum())

    def seconds(self, half_rate: float, full_rate: float, bandwidth: float) -> dict[Phase, float]:
        """Time of each phase; an operation takes the longest of its arithmetic, its memory, and ``LAUNCH``.

        Args:
            half_rate, full_rate: floating-point operations a second, of 16-bit and of 32-bit numbers.
            bandwidth: bytes a second.
        """
        rates = np.where(self.half, half_rate, full_rate)
        times = np.maximum(np.maximum(np.array(self.flops) / rates, np.array(self.bytes) / bandwidth), LAUNCH)
        return {phase: float(times[np.array(self.phase) == phase].sum()) for phase in Phase}
