"""Mixed precision in bfloat16, on any device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.optim import OptimWrapper
from torch import nn

from sapiens2.registry import OPTIM_WRAPPERS


@OPTIM_WRAPPERS.register_module()
class BFloat16OptimWrapper(OptimWrapper):
    """Runs the forward pass under autocast to bfloat16; parameters, gradients and updates stay in float32.

    bfloat16 has the exponent range of float32, so gradients neither underflow nor need a loss scale. MMEngine's
    ``AmpOptimWrapper`` always scales the loss and refuses to run on a CPU.

    Args:
        **kwargs: see ``OptimWrapper``: optimizer, accumulative_counts, clip_grad.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Autocast around a forward pass, and no gradient exchange while gradients accumulate."""
        with super().optim_context(model), torch.autocast(get_device(), dtype=torch.bfloat16):
            yield
