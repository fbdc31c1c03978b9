"""Feed-forward network with a gated unit (Shazeer, GLU variants improve transformer, arXiv 2002.05202)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    """(..., C) -> (..., C): ``w3(silu(a) * b)`` with ``a, b`` the halves of ``w12(x)``.

    Args:
        dim: channels C.
        hidden_dim: channels of each half.
    """

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.w12 = nn.Linear(dim, 2 * hidden_dim)
        self.w3 = nn.Linear(hidden_dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.w12(x).chunk(2, dim=-1)
        return self.w3(F.silu(gate) * value)
