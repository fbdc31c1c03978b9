"""Stochastic depth (Huang et al., arXiv 1603.09382)."""

from __future__ import annotations

from torch import Tensor, nn


class DropPath(nn.Module):
    """In training, zero a whole sample's residual branch with probability ``prob`` and rescale the others."""

    def __init__(self, prob: float = 0.0) -> None:
        super().__init__()
        if not 0 <= prob < 1:
            raise ValueError(f'drop path probability must be in [0, 1), got {prob}')
        self.prob = prob

    def forward(self, x: Tensor) -> Tensor:
        if self.prob == 0 or not self.training:
            return x
        keep = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(1 - self.prob)
        return x * keep / (1 - self.prob)

    def extra_repr(self) -> str:
        return f'prob={self.prob:g}'
