"""Sapiens2: the vision transformer of arXiv 2604.21681, 0.1B to 5B parameters, with the 4K tokenizer.

Parameter names and shapes are those of the released weights, so they load without conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

import torch
from torch import Tensor, nn

from sapiens2.models.backbones.base import ARCH_KEYS, VisionTransformer, init_transformer, resolve_arch
from sapiens2.models.layers import (LayerScale, PatchEmbed, RotaryEmbedding2D, TransformerBlock, WindowTokenizer,
                                    check_image_size, image_cells)
from sapiens2.registry import MODELS

KEYS = (*ARCH_KEYS, 'num_tokenizer_layers')
ARCHS = {
    name: dict(zip(KEYS, values))
    for name, values in {
        'sapiens2_nano': (64, 4, 4, 128, 1),  # for tests
        'sapiens2_micro': (128, 6, 2, 256, 1),  # for minutes on a CPU
        'sapiens2_tiny': (192, 12, 3, 384, 1),  # for laptops
        'sapiens2_0.1b': (768, 12, 12, 3072, 2),
        'sapiens2_0.4b': (1024, 24, 16, 4096, 2),
        'sapiens2_0.8b': (1280, 32, 16, 5120, 3),
        'sapiens2_1b': (1536, 40, 24, 6144, 4),
        'sapiens2_5b': (2432, 56, 32, 9728, 6),
    }.items()
}
FULL_HEAD_BLOCKS = 8  # so many first and last blocks have as many key-value heads as query heads


@MODELS.register_module()
class Sapiens2(VisionTransformer):
    """The Sapiens2 backbone.

    Args:
        arch: a name of ``ARCHS`` or a dictionary of embed_dims, num_layers, num_heads, feedforward_channels and
            num_tokenizer_layers.
        img_size: (H, W) in pixels that the model is built for; any other multiple of the patch works too.
        patch_size: pixels along a side of a patch.
        out_indices: blocks whose outputs are returned; the final norm acts on the last block's output only.
        out_type: 'raw' (B, N, C) with N = 1 class token + storage tokens + h * w patches, 'featmap' (B, C, h, w) or
            'cls_token' (B, C).
        use_tokenizer: put the 4K tokenizer before the blocks: each window of patches becomes one token.
        window_size: patches along a side of such a window.
        tokenizer_chunk_size: windows that the tokenizer runs at once; bounds memory, changes no result.
        num_storage_tokens: learnt tokens besides the class token (registers, Darcet et al., arXiv 2309.16588).
        drop_path_rate: drop path probability of the last block; earlier blocks grow to it linearly.
        rope_dtype: 'bf16' (as released) or 'fp32': dtype of the rotary angles, sines and cosines.
        rope_shift, rope_jitter, rope_rescale: changes of the coordinates in training, see ``RotaryEmbedding2D``.
        frozen_stages, with_cp, init_cfg: see ``VisionTransformer``.

    Raises:
        ValueError: for an unknown arch, out_type or rope_dtype (nearest names offered), or an image size that is not
            divisible by the patch (by patch times window with the tokenizer); the message says which sizes would do.
    """

    def __init__(self,
                 arch: Union[str, dict] = 'sapiens2_1b',
                 img_size: Union[int, Sequence[int]] = (1024, 768),
                 patch_size: int = 16,
                 out_indices: Union[int, Sequence[int]] = -1,
                 out_type: str = 'featmap',
                 use_tokenizer: bool = False,
                 window_size: int = 4,
                 tokenizer_chunk_size: int = 256,
                 num_storage_tokens: int = 8,
                 drop_path_rate: float = 0.0,
                 rope_dtype: str = 'bf16',
                 rope_shift: Optional[float] = None,
                 rope_jitter: Optional[float] = None,
                 rope_rescale: Optional[float] = None,
                 frozen_stages: int = -1,
                 with_cp: bool = False,
                 init_cfg: Optional[dict] = None) -> None:
        name, widths = resolve_arch(arch, ARCHS, 'Sapiens2', KEYS)
        super().__init__(
            name, widths, img_size=img_size, patch_size=patch_size,
            size_multiple=patch_size * (window_size if use_tokenizer else 1),
            num_prefix_tokens=1 + num_storage_tokens, out_indices=out_indices, out_type=out_type, with_cls_token=True,
            frozen_stages=frozen_stages, with_cp=with_cp, init_cfg=init_cfg)
        dim, depth, heads = widths['embed_dims'], widths['num_layers'], widths['num_heads']
        hidden = widths['feedforward_channels']
        self.patch_embed = PatchEmbed(dim, patch_size)
        self.tokenizer = WindowTokenizer(dim, widths['num_tokenizer_layers'], heads, hidden, window_size,
                                         tokenizer_chunk_size) if use_tokenizer else None
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        # None rather than a parameter without values, which FSDP2 cannot divide.
        self.storage_tokens = nn.Parameter(torch.zeros(1, num_storage_tokens, dim)) if num_storage_tokens else None
        self.rope_embed = RotaryEmbedding2D(
            dim // heads, self.num_prefix_tokens, dtype=rope_dtype, shift=rope_shift, jitter=rope_jitter,
            rescale=rope_rescale)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                dim, heads, hidden,
                num_kv_heads=heads if index < FULL_HEAD_BLOCKS or index >= depth - FULL_HEAD_BLOCKS else heads // 2,
                drop_path=drop_path_rate * index / max(depth - 1, 1)) for index in range(depth))
        self.ln1 = nn.RMSNorm(dim, eps=1e-6)
        self._freeze()

    def blocks_and_norm(self) -> tuple[nn.ModuleList, nn.Module]:
        return self.blocks, self.ln1

    def init_weights(self) -> None:
        """Truncated normal (0.02) for weights and tokens; then what ``init_cfg`` asks for."""
        init_transformer(self)
        for name, parameter in self.named_parameters():
            if name.endswith(('cls_token', 'storage_tokens', 'w_cls', 'local_pos_embed')):
                nn.init.trunc_normal_(parameter, std=0.02)
        for module in self.modules():
            if isinstance(module, LayerScale):
                nn.init.constant_(module.weight, module.init_value)
        self.rope_embed.periods.copy_(self.rope_embed.compute_periods())
        super().init_weights()

    def forward(self, x: Tensor, visible: Optional[Tensor] = None) -> tuple[Tensor, ...]:
        """Run on whole images, or on some of their tokens.

        Args:
            x: (B, 3, H, W), normalised RGB.
            visible: (B, n) int64, the tokens that are to be seen, counted row by row; a token is a patch, or a window
                of patches with the tokenizer. They keep their places; the pixels of the others are not read.

        Returns:
            One tensor per entry of ``out_indices``, as ``out_type`` says; with ``visible`` there is no map, so tokens
            (B, 1 + storage tokens + n, C) take the place of 'featmap'.
        """
        check_image_size(*x.shape[-2:], self.size_multiple)
        if visible is None:
            x = self._embed(x)
            grid = x.shape[-2:]
            tokens, rope = x.flatten(2).transpose(1, 2), self.rope_embed(*grid)
        else:
            grid = None
            rope = self.rope_embed(*(side // self.size_multiple for side in x.shape[-2:]), visible)
            tokens = self._embed(image_cells(x, self.size_multiple, visible).flatten(0, 1)).view(*visible.shape, -1)
        prefix = (token.expand(x.shape[0], -1, -1) for token in (self.cls_token, self.storage_tokens)
                  if token is not None)
        x = torch.cat((*prefix, tokens), dim=1)
        return self.run_blocks(x, grid, rope)

    def _embed(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, C, h, w), one token for each patch, or window of patches."""
        x = self.patch_embed(x)
        return x if self.tokenizer is None else self.tokenizer(x)
