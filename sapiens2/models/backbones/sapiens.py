"""Sapiens (v1): plain vision transformers with learnt position embedding (Khirodkar et al., arXiv 2408.12569).

Parameter names are those of MMPretrain's vision transformer, which the released v1 checkpoints use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sapiens2.models.backbones.base import ARCH_KEYS, VisionTransformer, init_transformer, resolve_arch
from sapiens2.models.layers import DropPath, PatchEmbed, check_image_size
from sapiens2.registry import MODELS

ARCHS = {
    name: dict(zip(ARCH_KEYS, values))
    for name, values in {
        'sapiens_nano': (64, 2, 4, 256),  # for tests
        'sapiens_0.3b': (1024, 24, 16, 4096),
        'sapiens_0.6b': (1280, 32, 16, 5120),
        'sapiens_1b': (1536, 40, 24, 6144),
        'sapiens_2b': (1920, 48, 32, 7680),
    }.items()
}
PATCH_PADDING = 2  # the released patch convolution pads the image by two pixels


class Attention(nn.Module):
    """Multi-head self-attention with one projection for queries, keys and values: (B, N, C) -> (B, N, C)."""

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(batch, tokens, dim))


class FeedForward(nn.Module):
    """Two linear layers with GELU: (..., C) -> (..., C). ``layers.0.0`` and ``layers.1`` hold the weights."""

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Sequential(nn.Linear(dim, hidden_dim), nn.GELU()), nn.Linear(hidden_dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Block(nn.Module):
    """Pre-norm transformer block: (B, N, C) -> (B, N, C)."""

    def __init__(self, dim: int, num_heads: int, hidden_dim: int, drop_path: float) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, num_heads)
        self.ln2 = nn.LayerNorm(dim, eps=1e-6)
        self.ffn = FeedForward(dim, hidden_dim)
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attn(self.ln1(x)))
        return x + self.drop_path(self.ffn(self.ln2(x)))


def resize_pos_embed(pos_embed: Tensor, source: tuple[int, int], target: tuple[int, int], num_prefix: int) -> Tensor:
    """Bicubically resize (1, num_prefix + h * w, C) position embeddings from the grid ``source`` to ``target``."""
    if source == target:
        return pos_embed
    grid = pos_embed[:, num_prefix:].reshape(1, *source, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid.float(), size=target, mode='bicubic', align_corners=False).to(pos_embed.dtype)
    return torch.cat((pos_embed[:, :num_prefix], grid.flatten(2).transpose(1, 2)), dim=1)


@MODELS.register_module()
class Sapiens(VisionTransformer):
    """The backbone of Sapiens v1.

    Args:
        arch: a name of ``ARCHS`` or a dictionary of embed_dims, num_layers, num_heads and feedforward_channels.
        img_size: (H, W) in pixels of the position embedding; it is resized for images of another size.
        patch_size: pixels along a side of a patch.
        out_indices, out_type, frozen_stages, with_cp, init_cfg: see ``VisionTransformer``.
        with_cls_token: v1's task checkpoints have no class token, its pretrained backbones have one.
        drop_path_rate: drop path probability of the last block; earlier blocks grow to it linearly.
    """

    def __init__(self,
                 arch: Union[str, dict] = 'sapiens_1b',
                 img_size: Union[int, Sequence[int]] = (1024, 768),
                 patch_size: int = 16,
                 out_indices: Union[int, Sequence[int]] = -1,
                 out_type: str = 'featmap',
                 with_cls_token: bool = False,
                 drop_path_rate: float = 0.0,
                 frozen_stages: int = -1,
                 with_cp: bool = False,
                 init_cfg: Optional[dict] = None) -> None:
        name, widths = resolve_arch(arch, ARCHS, 'Sapiens')
        super().__init__(
            name, widths, img_size=img_size, patch_size=patch_size, size_multiple=patch_size,
            num_prefix_tokens=int(with_cls_token), out_indices=out_indices, out_type=out_type,
            with_cls_token=with_cls_token, frozen_stages=frozen_stages, with_cp=with_cp, init_cfg=init_cfg)
        dim, depth = widths['embed_dims'], widths['num_layers']
        self.patch_embed = PatchEmbed(dim, patch_size, padding=PATCH_PADDING)
        self.grid = (self.img_size[0] // patch_size, self.img_size[1] // patch_size)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim)) if with_cls_token else None
        self.pos_embed = nn.Parameter(torch.zeros(1, self.num_prefix_tokens + self.grid[0] * self.grid[1], dim))
        self.layers = nn.ModuleList(
            Block(dim, widths['num_heads'], widths['feedforward_channels'], drop_path_rate * i / max(depth - 1, 1))
            for i in range(depth))
        self.ln1 = nn.LayerNorm(dim, eps=1e-6)
        self._freeze()

    def blocks_and_norm(self) -> tuple[nn.ModuleList, nn.Module]:
        return self.layers, self.ln1

    def init_weights(self) -> None:
        """Truncated normal (0.02) for weights, position embedding and class token; then what ``init_cfg`` asks for."""
        init_transformer(self)
        for token in (self.pos_embed, self.cls_token):
            if token is not None:
                nn.init.trunc_normal_(token, std=0.02)
        super().init_weights()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """(B, 3, H, W) normalised RGB -> one tensor per entry of ``out_indices``, as ``out_type`` says."""
        check_image_size(*x.shape[-2:], self.size_multiple)
        x = self.patch_embed(x)
        grid = tuple(x.shape[-2:])
        x = x.flatten(2).transpose(1, 2)
        if self.cls_token is not None:
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        return self.run_blocks(x + resize_pos_embed(self.pos_embed, self.grid, grid, self.num_prefix_tokens), grid)
