"""Axial rotary position embedding for patch tokens.

Follows RoPE (Su et al., RoFormer, arXiv 2104.09864) in the axial form of DINOv3 (arXiv 2508.10104): the patch centres
are normalised to [-1, 1] along each axis, so an image of another size reuses the same range of angles.
"""

from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROPE_DTYPES = {'bf16': torch.bfloat16, 'bfloat16': torch.bfloat16, 'fp32': torch.float32, 'float32': torch.float32}


class RotaryEmbedding2D(nn.Module):
    """Cosines and sines of an h x w grid of patches, and of the tokens before them, which are not rotated.

    Args:
        head_dim: channels of one attention head, a multiple of 4.
        num_prefix_tokens: tokens before the patches.
        base: ratio of the longest to the shortest period.
        dtype: 'bf16' (as released) or 'fp32', or their long names: the dtype in which periods, angles, sines and
            cosines are computed.
        shift: in training, both coordinates are shifted by up to this much (uniform, per axis).
        jitter: in training, each axis is scaled by a factor in [1 / jitter, jitter] (log-uniform).
        rescale: in training, both axes are scaled by one factor in [1 / rescale, rescale] (log-uniform).
    """

    def __init__(self,
                 head_dim: int,
                 num_prefix_tokens: int = 0,
                 base: float = 100.0,
                 dtype: str = 'bf16',
                 shift: Optional[float] = None,
                 jitter: Optional[float] = None,
                 rescale: Optional[float] = None) -> None:
        super().__init__()
        if head_dim % 4:
            raise ValueError(f'head_dim must be a multiple of 4 for two axes of rotation, got {head_dim}')
        if dtype not in ROPE_DTYPES:
            raise ValueError(f'rope_dtype must be one of {sorted(ROPE_DTYPES)}, got {dtype!r}')
        for name, factor in (('jitter', jitter), ('rescale', rescale)):
            if factor is not None and factor < 1:
                raise ValueError(f'rope {name} is a largest factor and must be at least 1, got {factor}')
        self.head_dim, self.base, self.dtype = head_dim, base, ROPE_DTYPES[dtype]
        self.num_prefix_tokens = num_prefix_tokens
        self.shift, self.jitter, self.rescale = shift, jitter, rescale
        self.register_buffer('periods', self.compute_periods())

    def compute_periods(self) -> Tensor:
        """Periods of the rotation, (head_dim / 4,), in ``self.dtype``."""
        exponents = 2 * torch.arange(self.head_dim // 4, dtype=self.dtype) / (self.head_dim // 2)
        return self.base**exponents

    def _apply(self, fn, recurse: bool = True):  # noqa: ANN001, ANN202 - signature of nn.Module
        """Move the periods to a device but keep their values: a model in half precision must not round the angles."""
        periods = self.periods
        super()._apply(fn, recurse)
        self.periods = self.periods.to(self.dtype) if periods.is_meta else periods.to(self.periods.device)
        return self

    def _coordinates(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Patch centres in [-1, 1]: rows (h,) and columns (w,), in ``self.dtype``."""
        options = dict(device=self.periods.device, dtype=self.dtype)
        rows = 2 * (torch.arange(0.5, height, **options) / height) - 1
        columns = 2 * (torch.arange(0.5, width, **options) / width) - 1
        if not self.training:
            return rows, columns
        scale, offset = torch.ones(2, **options), torch.zeros(2, **options)
        if self.shift is not None:
            offset = torch.empty(2, **options).uniform_(-self.shift, self.shift)
        if self.jitter is not None:
            scale = scale * torch.empty(2, **options).uniform_(-math.log(self.jitter), math.log(self.jitter)).exp()
        if self.rescale is not None:
            scale = scale * torch.empty(1, **options).uniform_(-math.log(self.rescale), math.log(self.rescale)).exp()
        return rows * scale[0] + offset[0], columns * scale[1] + offset[1]

    def forward(self, height: int, width: int, places: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
        """Cosines and sines: [row angles, column angles] twice over.

        Args:
            height, width: rows h and columns w of the grid.
            places: (B, n) int64, which patches of the grid there are, counted row by row; default: all, in order.

        Returns:
            Each (prefix + h * w, head_dim), or (B, prefix + n, head_dim) with ``places``.
        """
        rows, columns = self._coordinates(height, width)
        angles = torch.cat([
            (2 * math.pi * rows[:, None] / self.periods)[:, None].expand(-1, width, -1),
            (2 * math.pi * columns[:, None] / self.periods)[None].expand(height, -1, -1),
        ], dim=-1).flatten(0, 1).repeat(1, 2)
        angles = torch.cat((angles.new_zeros(self.num_prefix_tokens, self.head_dim), angles))
        cos, sin = angles.cos(), angles.sin()
        if places is None:
            return cos, sin
        # The first row of the tables is that of a token which is not rotated.
        places = F.pad(places + self.num_prefix_tokens, (self.num_prefix_tokens, 0))
        return cos[places], sin[places]


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate (B, N, heads, D) by the angles (N, D) or (B, N, D), in the dtype of ``cos``; that of ``x`` is kept."""
    half = x.shape[-1] // 2
    first, second = x.to(cos.dtype).split(half, dim=-1)
    cos, sin = cos[..., None, :half], sin[..., None, :half]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)
