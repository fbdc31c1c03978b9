"""Whether two checkpoints hold the same backbone, as after training with a frozen one."""

from __future__ import annotations

from pathlib import Path
from typing import Union

import torch

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
    for name in one:
        left, right = one[name].read(), two[name].read()
        if left.dtype != right.dtype or not torch.equal(left, right):
            return False
    return True
