"""The 4K tokenizer of Sapiens2: windows of patches become one token each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sapiens2.models.layers.block import TransformerBlock


class WindowTokenizer(nn.Module):
    """(B, C, h, w) -> (B, C, h / window, w / window) by attention inside each window.

    A learnt class token joins the patches of each window; after the blocks it alone is kept. Windows do not see one
    another, so they run in chunks and memory stays bounded.

    Args:
        dim: channels C.
        num_layers: number of blocks.
        num_heads: attention heads.
        hidden_dim: channels of each half of the gated unit.
        window_size: patches along each side of a window.
        chunk_size: windows that run at once.
    """

    def __init__(self,
                 dim: int,
                 num_layers: int,
                 num_heads: int,
                 hidden_dim: int,
                 window_size: int = 4,
                 chunk_size: int = 256) -> None:
        super().__init__()
        self.window_size, self.chunk_size = window_size, chunk_size
        self.w_cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.local_pos_embed = nn.Parameter(torch.zeros(1, window_size**2 + 1, dim))
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, num_heads, hidden_dim, qk_norm=False, layer_scale=False) for _ in range(num_layers))

    def _summarise(self, windows: Tensor) -> Tensor:
        """(M, window ** 2, C) patches of M windows -> (M, C)."""
        x = torch.cat((self.w_cls.expand(windows.shape[0], -1, -1), windows), dim=1) + self.local_pos_embed
        for block in self.blocks:
            x = block(x)
        return x[:, 0]

    def forward(self, x: Tensor) -> Tensor:
        batch, dim, height, width = x.shape
        side = self.window_size
        rows, columns = height // side, width // side
        windows = x.reshape(batch, dim, rows, side, columns, side).permute(0, 2, 4, 3, 5, 1)
        windows = windows.reshape(-1, side * side, dim)
        # In training each chunk is recomputed in the backward pass: activations of one chunk at a time.
        recompute = torch.is_grad_enabled() and len(windows) > self.chunk_size
        tokens = torch.cat([
            checkpoint(self._summarise, chunk, use_reentrant=False) if recompute else self._summarise(chunk)
            for chunk in windows.split(self.chunk_size)
        ])
        return tokens.view(batch, rows, columns, dim).permute(0, 3, 1, 2)
