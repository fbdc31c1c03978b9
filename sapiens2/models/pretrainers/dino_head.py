"""The projection head of DINO (Caron et al., arXiv 2104.14294; hidden and bottleneck widths as there)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Prototypes(nn.Module):
    """Cosines between unit vectors and learnt directions: a linear layer without bias whose rows have length one.

    Args:
        channels: of the vectors.
        count: number of directions (K).

    Attributes:
        frozen: the backward pass gives the directions a gradient of zero. They keep ``requires_grad``, so that
            ``DistributedDataParallel``, which looks at it once, goes on working.
    """

    def __init__(self, channels: int, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, channels))
        nn.init.trunc_normal_(self.weight, std=0.02)
        self.frozen = False

    def forward(self, x: Tensor) -> Tensor:
        """(..., channels) of length one -> (..., K) cosines."""
        directions = F.normalize(self.weight, dim=-1)
        if self.frozen and directions.requires_grad:
            directions.register_hook(torch.zeros_like)
        return F.linear(x, directions)

    def extra_repr(self) -> str:
        return f'{self.weight.shape[1]}, count={self.weight.shape[0]}'


class DINOHead(nn.Module):
    """A multilayer perceptron, a bottleneck of length one, and prototypes.

    Args:
        in_channels: of the tokens.
        hidden: width of the hidden layers.
        bottleneck: width before the prototypes.
        prototypes: how many there are (K).
        layers: linear layers of the perceptron, at least 1.

    Raises:
        ValueError: for sizes below one.
    """

    def __init__(self, in_channels: int, hidden: int = 2048, bottleneck: int = 256, prototypes: int = 65536,
                 layers: int = 3) -> None:
        super().__init__()
        sizes = dict(hidden=hidden, bottleneck=bottleneck, prototypes=prototypes, layers=layers)
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f'head: {name} must be at least 1, got {size}')
        widths = [in_channels, *[hidden] * (layers - 1), bottleneck]
        modules: list[nn.Module] = []
        for before, after in zip(widths, widths[1:]):
            linear = nn.Linear(before, after)
            nn.init.trunc_normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)
            modules += [linear, nn.GELU()]
        self.mlp = nn.Sequential(*modules[:-1])
        self.prototypes = Prototypes(bottleneck, prototypes)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (..., in_channels) -> cosines (..., K)."""
        return self.prototypes(self.embed(x))

    def embed(self, x: Tensor) -> Tensor:
        """Tokens (..., in_channels) -> unit vectors (..., bottleneck), in float32 at least."""
        x = self.mlp(x)
        return F.normalize(x if x.dtype == torch.float64 else x.float(), dim=-1)

    @torch.no_grad()
    def targets_input(self, x: Tensor) -> Tensor:
        """What ``forward`` gives, without gradient; the cosines in float32 under autocast too.

        The temperature of the teacher magnifies their rounding 25 times, and assignments are computed in float32
        anyway: this way no second copy is made.
        """
        embedded = self.embed(x)
        with torch.autocast(embedded.device.type, enabled=False):
            return self.prototypes(embedded)
