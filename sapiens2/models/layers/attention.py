"""Multi-head and grouped-query self-attention with normalised queries and keys.

Grouped queries: Ainslie et al., GQA, arXiv 2305.13245. Normalised queries and keys: Dehghani et al., ViT-22B,
arXiv 2302.05442. Layer scale: Touvron et al., CaiT, arXiv 2103.17239.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sapiens2.models.layers.rope import apply_rotary

Linear = Callable[[Tensor], Tensor]


class LayerScale(nn.Module):
    """A learnt factor per channel: (..., C) -> (..., C)."""

    def __init__(self, dim: int, init_value: float = 1e-4) -> None:
        super().__init__()
        self.init_value = init_value
        self.weight = nn.Parameter(torch.full((dim,), init_value))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class HeadNorm(nn.RMSNorm):
    """RMSNorm whose weight takes on the dtype of its input, (..., D) -> (..., D).

    Under autocast queries and keys come in bfloat16. PyTorch has no fast kernel for a norm of two dtypes, and warns.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


class SelfAttention(nn.Module):
    """Self-attention over N tokens.

    Args:
        dim: channels C of the tokens.
        num_heads: heads of the queries; ``dim`` is a multiple of it.
        num_kv_heads: heads of keys and values; ``num_heads`` is a multiple of it. Default: ``num_heads``.
        qk_norm: normalise queries and keys per head (RMSNorm) before the rotation.
        layer_scale: multiply the output by a learnt factor per channel.
    """

    # An attribute, so that an export can put another way to the same values in its place.
    rotate = staticmethod(apply_rotary)

    def __init__(self,
                 dim: int,
                 num_heads: int,
                 num_kv_heads: Optional[int] = None,
                 qk_norm: bool = True,
                 layer_scale: bool = True) -> None:
        super().__init__()
        num_kv_heads = num_kv_heads or num_heads
        if dim % num_heads or num_heads % num_kv_heads:
            raise ValueError(f'dim {dim} must be a multiple of num_heads {num_heads}, and that of num_kv_heads '
                             f'{num_kv_heads}')
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, dim // num_heads
        self.wq = nn.Linear(dim, dim)
        self.wk = nn.Linear(dim, num_kv_heads * self.head_dim)
        self.wv = nn.Linear(dim, num_kv_heads * self.head_dim)
        self.q_norm = HeadNorm(self.head_dim, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = HeadNorm(self.head_dim, eps=1e-6) if qk_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim)
        self.gamma = LayerScale(dim) if layer_scale else nn.Identity()

    def project(self, x: Tensor, rope: Optional[tuple[Tensor, Tensor]] = None,
                layers: Optional[Sequence[Linear]] = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, N, heads, D), keys and values (B, N, kv heads, D) of (B, N, C).

        ``rope`` is as in ``forward``; ``layers`` stand in for wq, wk and wv.
        """
        q, k, v = (layer(x).view(*x.shape[:2], -1, self.head_dim) for layer in layers or (self.wq, self.wk, self.wv))
        q, k = self.q_norm(q), self.k_norm(k)
        if rope is not None:
            q, k = self.rotate(q, *rope), self.rotate(k, *rope)
        return q, k, v

    def merge(self, heads: Tensor, layer: Optional[Linear] = None) -> Tensor:
        """What the heads found, (B, N, heads, D), to the output (B, N, C); ``layer`` stands in for proj."""
        return self.gamma((layer or self.proj)(heads.flatten(2)))

    def forward(self, x: Tensor, rope: Optional[tuple[Tensor, Tensor]] = None) -> Tensor:
        """Attend.

        Args:
            x: (B, N, C).
            rope: cosines and sines, each (N, C / num_heads), or (B, N, C / num_heads) if images differ.

        Returns:
            (B, N, C).
        """
        q, k, v = (y.transpose(1, 2) for y in self.project(x, rope))
        grouped = self.num_kv_heads != self.num_heads
        return self.merge(F.scaled_dot_product_attention(q, k, v, enable_gqa=grouped).transpose(1, 2))
