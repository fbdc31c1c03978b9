"""Mixed precision in bfloat16, on any device that computes in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.logging import print_log
from mmengine.optim import OptimWrapper
from torch import nn

from sapiens2.registry import OPTIM_WRAPPERS
from sapiens2.utils.devices import cpu_has_bf16


@OPTIM_WRAPPERS.register_module()
class BFloat16OptimWrapper(OptimWrapper):
    """Runs the forward pass under autocast to bfloat16; parameters, gradients and updates stay in float32.

    bfloat16 has the exponent range of float32, so gradients neither underflow nor need a loss scale. MMEngine's
    ``AmpOptimWrapper`` always scales the loss and refuses to run on a CPU.

    A CPU without instructions for bfloat16 takes about ten times as long in it as in float32
    (``benchmarks/README.md``). There the forward pass is in float32, and the log says so.

    Args:
        emulate: use bfloat16 on such a CPU, too: as exact, and as small, as on a GPU, but slow.
        **kwargs: see ``OptimWrapper``: optimizer, accumulative_counts, clip_grad.
    """

    def __init__(self, emulate: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.enabled = emulate or get_device() != 'cpu' or cpu_has_bf16()
        if not self.enabled:
            print_log('This CPU has no instructions for bfloat16, which would make training many times slower: the '
                      'forward pass is in float32 (optim_wrapper.emulate=True uses bfloat16 all the same).', 'current',
                      logging.WARNING)

    @contextmanager
    def optim_context(self, model: nn.Module) -> Iterator[None]:
        """Autocast around a forward pass, and no gradient exchange while gradients accumulate."""
        with super().optim_context(model), torch.autocast(get_device(), torch.bfloat16, self.enabled):
            yield
