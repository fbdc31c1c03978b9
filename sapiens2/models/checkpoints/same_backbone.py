"""Whether two checkpoints hold the same backbone, as after training with a frozen one."""

from __future__ import annotations

from pathlib import Path
from typing import Union

import torch
from torch import Tensor

from sapiens2.models.checkpoints.source import BACKBONE, open_checkpoint


def same_backbone(first: Union[str, Path], second: Union[str, Path]) -> bool:
    """Compare the tensors of two backbones; the first difference ends it, so that others cost nothing.

    Raises:
        FileNotFoundError, BadCheckpointFile: see ``open_checkpoint``.
    """
    one, two = ({name: tensor for name, tensor in open_checkpoint(path)[0].items() if name.startswith(BACKBONE)}
                for path in (first, second))
    if not one or one.keys() != two.keys():
        return False
    return all(same_tensor(one[name].read(), two[name].read()) for name in one)


def same_tensor(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors have the same dtype and values; those on the meta device, which have none, never do."""
    # Blocks that are read from the file when their turn comes are there until then.
    return not first.is_meta and not second.is_meta and first.dtype == second.dtype and torch.equal(first, second)
