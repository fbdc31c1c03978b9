"""One pre-norm transformer block."""

from __future__ import annotations

from typing import Optional

from torch import Tensor, nn

from sapiens2.models.layers.attention import SelfAttention
from sapiens2.models.layers.cpu_float32 import in_float32, needs_float32
from sapiens2.models.layers.cpu_inference import block_in_chunks, suits_chunks
from sapiens2.models.layers.drop_path import DropPath
from sapiens2.models.layers.ffn import SwiGLU


class TransformerBlock(nn.Module):
    """``x + attn(ln1(x))``, then ``x + ffn(ln2(x))``.

    Args:
        dim: channels C.
        num_heads: heads of the queries.
        hidden_dim: channels of each half of the gated unit.
        num_kv_heads: heads of keys and values.
        qk_norm: normalise queries and keys.
        layer_scale: learnt factor on the attention branch.
        drop_path: probability of dropping a branch in training.
    """

    def __init__(self,
                 dim: int,
                 num_heads: int,
                 hidden_dim: int,
                 num_kv_heads: Optional[int] = None,
                 qk_norm: bool = True,
                 layer_scale: bool = True,
                 drop_path: float = 0.0) -> None:
        super().__init__()
        self.ln1 = nn.RMSNorm(dim, eps=1e-6)
        self.attn = SelfAttention(dim, num_heads, num_kv_heads, qk_norm, layer_scale)
        self.ln2 = nn.RMSNorm(dim, eps=1e-6)
        self.ffn = SwiGLU(dim, hidden_dim)
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor, rope: Optional[tuple[Tensor, Tensor]] = None) -> Tensor:
        """(B, N, C) -> (B, N, C); ``rope`` as in ``SelfAttention``."""
        if not self.training and needs_float32(x):
            # Not ``in_float32(self).forward``: one that was put in its place, to recompute, belongs to this block.
            return TransformerBlock.forward(in_float32(self), x.float(), rope).to(x.dtype)
        if not self.training and suits_chunks(x):
            return block_in_chunks(self, x, rope)
        x = x + self.drop_path(self.attn(self.ln1(x), rope))
        return x + self.drop_path(self.ffn(self.ln2(x)))
