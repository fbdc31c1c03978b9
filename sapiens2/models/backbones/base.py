"""What the vision transformers of this project share: outputs, freezing, checkpointing, depth of a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

import torch
from mmengine.model import BaseModule
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sapiens2.models.layers import check_image_size
from sapiens2.utils.suggest import UnknownNameError, unknown_name

ARCH_KEYS = ('embed_dims', 'num_layers', 'num_heads', 'feedforward_channels')
OUT_TYPES = ('raw', 'featmap', 'cls_token')


def resolve_arch(arch: Union[str, dict], table: dict[str, dict[str, int]], what: str,
                 keys: Sequence[str] = ARCH_KEYS) -> tuple[str, dict[str, int]]:
    """Look ``arch`` up in ``table``, or check a dictionary of its own.

    Returns:
        Name ('custom' for a dictionary) and widths.

    Raises:
        ValueError: for an unknown name, or for keys that lack or are unknown.
    """
    if isinstance(arch, str):
        if arch not in table:
            raise UnknownNameError(unknown_name(arch, table, f'{what} arch'))
        return arch, table[arch]
    for key in arch:
        if key not in keys:
            raise UnknownNameError(unknown_name(key, keys, f'key of the {what} arch'))
    missing = [key for key in keys if key not in arch]
    if missing:
        raise ValueError(f'the {what} arch lacks {", ".join(missing)}; it needs {", ".join(keys)}')
    return 'custom', dict(arch)


def resolve_out_indices(out_indices: Union[int, Sequence[int]], num_layers: int, arch_name: str) -> tuple[int, ...]:
    """``out_indices`` as a tuple of numbers from 0 on; negative ones count from the last block.

    Raises:
        ValueError: for a block that ``arch_name`` does not have.
    """
    indices = (out_indices,) if isinstance(out_indices, int) else tuple(out_indices)
    for index in indices:
        if not -num_layers <= index < num_layers:
            raise ValueError(f'out_indices holds {index}, but {arch_name} has {num_layers} blocks')
    return tuple(index % num_layers for index in indices)


class VisionTransformer(BaseModule):
    """Base of the backbones of this project. A subclass sets up its modules, then calls ``_freeze``.

    Args:
        arch_name, arch: as returned by ``resolve_arch``.
        img_size: (H, W) in pixels that the model is built for; other sizes work too.
        patch_size: pixels along a side of a patch.
        size_multiple: what both sides of an image must be divisible by, in pixels.
        num_prefix_tokens: tokens before the patches.
        out_indices: blocks whose outputs are returned; negative ones count from the last.
        out_type: 'raw' (B, N, C), 'featmap' (B, C, h, w) or 'cls_token' (B, C).
        with_cls_token: whether the first token is a class token.
        frozen_stages: -1 trains all; n freezes the embedding and the first n blocks; the depth freezes everything.
        with_cp: recompute the activations of each block in the backward pass.
        init_cfg: MMEngine's initialisation, ``dict(type='Pretrained', checkpoint=...)`` for instance.
    """

    def __init__(self, arch_name: str, arch: dict[str, int], *, img_size: Union[int, Sequence[int]], patch_size: int,
                 size_multiple: int, num_prefix_tokens: int, out_indices: Union[int, Sequence[int]], out_type: str,
                 with_cls_token: bool, frozen_stages: int, with_cp: bool, init_cfg: Optional[dict]) -> None:
        super().__init__(init_cfg)
        self.arch_name, self.arch = arch_name, arch
        self.embed_dims, self.num_layers = arch['embed_dims'], arch['num_layers']
        self.img_size = (img_size, img_size) if isinstance(img_size, int) else tuple(img_size)
        if len(self.img_size) != 2:
            raise ValueError(f'img_size must be (H, W) in pixels, got {img_size!r}')
        self.patch_size, self.size_multiple = patch_size, size_multiple
        check_image_size(*self.img_size, size_multiple)
        self.num_prefix_tokens, self.with_cls_token, self.with_cp = num_prefix_tokens, with_cls_token, with_cp
        if out_type not in OUT_TYPES:
            raise UnknownNameError(unknown_name(out_type, OUT_TYPES, 'out_type'))
        if out_type == 'cls_token' and not with_cls_token:
            raise ValueError("out_type='cls_token' needs with_cls_token=True")
        self.out_type = out_type
        self.out_indices = resolve_out_indices(out_indices, self.num_layers, arch_name)
        if not -1 <= frozen_stages <= self.num_layers:
            raise ValueError(f'frozen_stages must be in -1..{self.num_layers}, got {frozen_stages}')
        self.frozen_stages = frozen_stages

    def blocks_and_norm(self) -> tuple[nn.ModuleList, nn.Module]:
        """The blocks in order and the final norm."""
        raise NotImplementedError

    def train(self, mode: bool = True) -> VisionTransformer:
        """Switch the mode; what is frozen stays in evaluation mode and gets no gradient."""
        super().train(mode)
        self._freeze()
        return self

    def _freeze(self) -> None:
        if self.frozen_stages < 0:
            return
        for name, parameter in self.named_parameters():
            if self.get_layer_depth(name)[0] <= self.frozen_stages or self.frozen_stages == self.num_layers:
                parameter.requires_grad_(False)
        for block in self.blocks_and_norm()[0][:self.frozen_stages]:
            block.eval()

    def get_layer_depth(self, param_name: str, prefix: str = '') -> tuple[int, int]:
        """Depth of a parameter for layer-wise learning-rate decay.

        Args:
            param_name: name of the parameter in the whole model.
            prefix: what stands before the backbone's own names ('backbone.').

        Returns:
            Depth and number of depths: 0 for the embedding, i + 1 for block i, the last for the final norm and for
            parameters outside the backbone.
        """
        depths = self.num_layers + 2
        if not param_name.startswith(prefix):
            return depths - 1, depths
        first, _, rest = param_name[len(prefix):].partition('.')
        if first in ('blocks', 'layers'):
            return int(rest.split('.')[0]) + 1, depths
        return (depths - 1 if first == 'ln1' else 0), depths

    def run_blocks(self, x: Tensor, grid: Optional[tuple[int, int]], *args: Any) -> tuple[Tensor, ...]:
        """Run all blocks on (B, N, C) tokens and collect what ``out_indices`` asks for.

        The tokens are those of an (h, w) ``grid``; None if some of its patches are left out, so that there is no map.
        """
        blocks, norm = self.blocks_and_norm()
        outputs = []
        for index, block in enumerate(blocks):
            x = run_block(block, self.with_cp, x, *args)
            if index in self.out_indices:
                outputs.append(self._format(norm(x) if index == self.num_layers - 1 else x, grid))
        return tuple(outputs)

    def _format(self, x: Tensor, grid: Optional[tuple[int, int]]) -> Tensor:
        if self.out_type == 'cls_token':
            return x[:, 0]
        if self.out_type == 'raw' or grid is None:
            return x
        return x[:, self.num_prefix_tokens:].transpose(1, 2).reshape(x.shape[0], self.embed_dims, *grid).contiguous()


def run_block(block: Callable, with_cp: bool, x: Tensor, *args: Any) -> Tensor:
    """One block, with its activations recomputed in the backward pass where ``with_cp`` asks for it."""
    if with_cp and torch.is_grad_enabled():
        return checkpoint(block, x, *args, use_reentrant=False)
    return block(x, *args)


def init_transformer(module: nn.Module, std: float = 0.02) -> None:
    """Truncated normal weights for linear and convolution layers, zero bias, unit norms."""
    for child in module.modules():
        if isinstance(child, (nn.Linear, nn.Conv2d)):
            nn.init.trunc_normal_(child.weight, std=std)
            if child.bias is not None:
                nn.init.zeros_(child.bias)
        elif isinstance(child, (nn.LayerNorm, nn.RMSNorm)):
            child.reset_parameters()
