"""Multi-head and grouped-query self-attention with normalised queries and keys.

Grouped queries: Ainslie et al., GQA, arXiv 2305.13245. Normalised queries and keys: Dehghani et al., ViT-22B,
arXiv 2302.05442. Layer scale: Touvron et al., CaiT, arXiv 2103.17239.
"""

from __future__ import annotations

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sapiens2.models.layers.cpu_attention import chunked_attention, prefers_chunks
from sapiens2.models.layers.rope import apply_rotary


class LayerScale(nn.Module):
    """A learnt factor per channel: (..., C) -> (..., C)."""

    def __init__(self, dim: int, init_value: float = 1e-4) -> None:
        super().__init__()
        self.init_value = init_value
        self.weight = nn.Parameter(torch.full((dim,), init_value))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class SelfAttention(nn.Module):
    """Self-attention over N tokens.

    Args:
        dim: channels C of the tokens.
        num_heads: heads of the queries; ``dim`` is a multiple of it.
        num_kv_heads: heads of keys and values; ``num_heads`` is a multiple of it. Default: ``num_heads``.
        qk_norm: normalise queries and keys per head (RMSNorm) before the rotation.
        layer_scale: multiply the output by a learnt factor per channel.
    """

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
        self.q_norm = nn.RMSNorm(self.head_dim, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(self.head_dim, eps=1e-6) if qk_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim)
        self.gamma = LayerScale(dim) if layer_scale else nn.Identity()

    def forward(self, x: Tensor, rope: Optional[tuple[Tensor, Tensor]] = None) -> Tensor:
        """Attend.

        Args:
            x: (B, N, C).
            rope: cosines and sines, each (P, C / num_heads), of the last P of the N tokens.

        Returns:
            (B, N, C).
        """
        batch, tokens, _ = x.shape
        q = self.q_norm(self.wq(x).view(batch, tokens, self.num_heads, self.head_dim))
        k = self.k_norm(self.wk(x).view(batch, tokens, self.num_kv_heads, self.head_dim))
        v = self.wv(x).view(batch, tokens, self.num_kv_heads, self.head_dim)
        if rope is not None:
            q, k = apply_rotary(q, *rope), apply_rotary(k, *rope)
        out = attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        return self.gamma(self.proj(out.transpose(1, 2).reshape(batch, tokens, -1)))


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax attention: q (B, heads, N, D), k and v (B, kv heads, N, D) -> (B, heads, N, D)."""
    if prefers_chunks(q):
        return chunked_attention(q, k, v)
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=bool(k.shape[1] != q.shape[1]))
