"""Unit vectors whose gradient stays finite."""

from __future__ import annotations

import torch
from torch import Tensor


def unit(vectors: Tensor, shortest: Tensor | float = 1e-6) -> Tensor:
    """``vectors`` (B, 3, H, W) at length one; those no longer than ``shortest`` become zero, with gradient zero.

    A division by the length alone has a gradient of one over it, which a vanishing vector makes huge.

    Args:
        vectors: any.
        shortest: a number, or (B, 1, H, W).
    """
    length = torch.linalg.vector_norm(vectors.detach(), dim=1, keepdim=True)
    long = length > shortest
    safe = vectors.where(long, 1.0)
    return (safe / torch.linalg.vector_norm(safe, dim=1, keepdim=True)).where(long, 0.0)
