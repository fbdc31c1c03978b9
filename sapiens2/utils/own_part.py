"""Tensors that are divided among processes."""

from __future__ import annotations

from torch import Tensor
from torch.distributed.tensor import DTensor


def own_part(tensor: Tensor) -> Tensor:
    """What this process holds of ``tensor``: all of it unless it is sharded."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
