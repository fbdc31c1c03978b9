"""The blocks of a transformer, each with the part of a checkpoint that fills it."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Union

import torch
from mmengine.logging import print_log
from torch import Tensor, nn

from sapiens2.models.backbones.base import VisionTransformer
from sapiens2.models.checkpoints.load import fill, fitting_entries
from sapiens2.models.checkpoints.stored import StoredTensor


@dataclass(frozen=True)
class BlockWeights:
    """One block, whose parameters are on the meta device while it is not in memory.

    Attributes:
        block: the module.
        entries: the tensors of the checkpoint by the names of the block's parameters.
        dtype: floating-point dtype of the parameters.
        device: where the block computes.
    """

    block: nn.Module
    entries: dict[str, StoredTensor]
    dtype: torch.dtype
    device: torch.device

    @property
    def nbytes(self) -> int:
        """Size of the parameters in memory."""
        return parameter_bytes(self.block, self.dtype)

    def read(self) -> dict[str, Tensor]:
        """The parameters, all pages in memory."""
        tensors = {name: stored.read(self.dtype, self.device) for name, stored in self.entries.items()}
        if self.device.type == 'cpu':
            for tensor in tensors.values():
                tensor.flatten().view(torch.uint8)[::mmap.PAGESIZE].sum()  # one byte brings its whole page
        return tensors

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Put what ``read`` gave into the block."""
        self.block.load_state_dict(tensors, assign=True)

    def drop(self) -> None:
        """Take the parameters out of memory; the system may keep the file in its cache as long as there is room."""
        self.block.to('meta')
        self.release()

    def release(self) -> None:
        """Give back the pages of the file that the block does not use any more."""
        for stored in self.entries.values():
            stored.release()


def parameter_bytes(module: nn.Module, dtype: torch.dtype) -> int:
    """Size of all parameters in ``dtype``."""
    return sum(parameter.numel() for parameter in module.parameters()) * dtype.itemsize


def find_blocks(model: nn.Module) -> tuple[str, nn.ModuleList]:
    """The blocks of the transformer that ``model`` is or has as its backbone, and what their names begin with.

    Raises:
        ValueError: if it is none of this project's transformers.
    """
    backbone = getattr(model, 'backbone', model)
    if not isinstance(backbone, VisionTransformer):
        raise ValueError(f'stream_layers and int8_weights work on Sapiens2 and Sapiens backbones; '
                         f'{type(backbone).__name__} is none: leave them out')
    blocks = backbone.blocks_and_norm()[0]
    return next(f'{name}.' for name, module in model.named_modules() if module is blocks), blocks


def load_all_but_blocks(model: nn.Module, path: Union[str, Path], dtype: torch.dtype,
                        device: torch.device) -> list[BlockWeights]:
    """Fill ``model``, whose parameters are on the meta device, except for its blocks, which are returned.

    Raises:
        FileNotFoundError, BadCheckpointFile, CheckpointError, CheckpointMismatch: see ``load_checkpoint``.
    """
    report, entries = fitting_entries(model, path)
    prefix, blocks = find_blocks(model)
    parts: list[dict[str, StoredTensor]] = [{} for _ in blocks]
    rest: dict[str, StoredTensor] = {}
    for name, stored in entries.items():
        if name.startswith(prefix):
            index, _, inner = name[len(prefix):].partition('.')
            parts[int(index)][inner] = stored
        else:
            rest[name] = stored
    fill(model, rest, dtype, device)
    for module in model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, buffer.to(device))
    print_log(report.summary(), logger='current')
    return [BlockWeights(block.requires_grad_(False), part, dtype, device) for block, part in zip(blocks, parts)]
