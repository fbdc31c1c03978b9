"""AdamW whose two averages take one byte each instead of four."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from sapiens2.registry import OPTIMIZERS


@OPTIMIZERS.register_module(name='AdamW8bit')
def adamw_8bit(params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
               weight_decay: float = 0.01) -> Optimizer:
    """AdamW of bitsandbytes (Dettmers et al., arXiv 2110.02861); tensors below 4096 values keep 32 bits.

    Raises:
        ImportError: if bitsandbytes is not installed.
    """
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError as error:
        raise ImportError('optim_wrapper.optimizer: AdamW8bit needs bitsandbytes: pip install "sapiens2[8bit]"; '
                          'TorchAdafactor needs less memory still, and nothing to be installed') from error
    return AdamW8bit(params, lr=lr, betas=tuple(betas), eps=eps, weight_decay=weight_decay)
