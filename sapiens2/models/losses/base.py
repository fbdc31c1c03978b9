"""What the losses share: names, weights, and the treatment of masks and of numbers that are not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor, nn


class Loss(nn.Module):
    """Base of all losses.

    Args:
        loss_weight: factor of the returned value.
        loss_name: key of the value in the log.

    Attributes:
        inputs: names of the arguments of ``forward`` that a head provides by keyword.
    """

    inputs: tuple[str, ...] = ('pred', 'target', 'mask', 'names')
    default_name = 'loss'

    def __init__(self, loss_weight: float = 1.0, loss_name: Optional[str] = None) -> None:
        super().__init__()
        self.loss_weight = loss_weight
        self.loss_name = loss_name or self.default_name

    def extra_repr(self) -> str:
        return f'loss_weight={self.loss_weight:g}'


def sample_label(index: int, names: Optional[Sequence[str]]) -> str:
    """How an error calls sample ``index`` of the batch."""
    return f'sample {names[index]!r}' if names else f'sample {index} of the batch'


def finite_target(target: Tensor, mask: Tensor, names: Optional[Sequence[str]]) -> Tensor:
    """``target`` in float32 with zeros where it is not finite, all of which lies outside ``mask``.

    Args:
        target: (B, C, H, W).
        mask: bool, broadcast to ``target``.
        names: names of the B samples, for the error.

    Raises:
        ValueError: if a value inside the mask is not finite; names the sample and says what to do.
    """
    target = target.float()
    finite = target.isfinite()
    wrong = ~finite & mask
    if wrong.any():
        counts = wrong.flatten(1).sum(1)
        index = int(counts.argmax())
        raise ValueError(f'the target of {sample_label(index, names)} has {int(counts[index])} values that are not '
                         f'finite inside its mask; mend the file or leave those pixels out of the mask')
    return target.where(finite, 0.0)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Sum of ``values`` (B, C, H, W) over channels and masked pixels, divided by the number of masked pixels.

    An empty ``mask`` (B, 1, H, W) gives zero, with gradient zero.
    """
    return values.where(mask, 0.0).sum() / mask.sum().clamp(min=1)


class MaskedLoss(Loss):
    """A loss over the pixels of a mask. A subclass says what it is of clean float32 tensors in ``compute``."""

    def forward(self, pred: Tensor, target: Tensor, mask: Optional[Tensor] = None,
                names: Optional[Sequence[str]] = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred, target: (B, C, H, W).
            mask: (B, 1, H, W) bool, pixels that count; all by default.
            names: names of the samples, for errors.
        """
        if mask is None:
            mask = torch.ones_like(pred[:, :1], dtype=torch.bool)
        mask = mask.bool()
        return self.loss_weight * self.compute(pred.float(), finite_target(target, mask, names), mask)

    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        raise NotImplementedError
