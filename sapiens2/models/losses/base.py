"""What the losses share: names, weights, and the treatment of masks and of numbers that are not finite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor, nn

Names = Optional[Sequence[str]]


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


def full_precision(values: Tensor) -> Tensor:
    """``values`` in float32, unless they are float64 already."""
    return values if values.dtype == torch.float64 else values.float()


def mean(values: Tensor) -> Tensor:
    """Mean of all ``values``; zero if there are none."""
    return values.sum() / max(values.numel(), 1)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Sum of ``values`` (B, C, H, W) over channels and masked pixels, divided by the number of masked pixels.

    An empty ``mask`` (B, 1, H, W) gives zero, with gradient zero.
    """
    return values.where(mask, 0.0).sum() / mask.sum().clamp(min=1)


def sample_label(index: int, names: Names) -> str:
    """How an error calls sample ``index`` of the batch."""
    return f'sample {names[index]!r}' if names else f'sample {index} of the batch'


def refuse(wrong: Tensor, what: str, remedy: str, names: Names) -> None:
    """Raise an error that names the sample with most ``wrong`` entries, if there are any.

    Args:
        wrong: (B, ...) bool.
        what: what is wrong, after '<sample> has <count> '.
        remedy: what to do.
        names: names of the B samples.

    Raises:
        ValueError: if any entry is true.
    """
    if wrong.any():
        counts = wrong.flatten(1).sum(1)
        index = int(counts.argmax())
        raise ValueError(f'the target of {sample_label(index, names)} has {int(counts[index])} {what}; {remedy}')


def refuse_not_finite(target: Tensor, mask: Tensor, names: Names) -> None:
    """Raise unless ``target`` (B, ...) is finite wherever ``mask``, broadcast to it, is true.

    Raises:
        ValueError: naming a sample.
    """
    refuse(~target.isfinite() & mask, 'values that are not finite inside its mask',
           'mend the file or leave those pixels out of the mask', names)


class MaskedLoss(Loss, ABC):
    """A loss over the pixels of a mask. A subclass says in ``compute`` what it is of clean tensors."""

    def forward(self, pred: Tensor, target: Tensor, mask: Optional[Tensor] = None, names: Names = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred, target: (B, C, H, W). Outside the mask the target may hold anything.
            mask: (B, 1, H, W), or without the batch dimension for all samples alike: pixels that count, by default all.
            names: names of the samples, for errors.

        Raises:
            ValueError: if the target is not finite inside the mask, or has another shape than the prediction.
        """
        if pred.shape != target.shape:
            raise ValueError(f'{type(self).__name__}: the prediction has shape {tuple(pred.shape)}, the target '
                             f'{tuple(target.shape)}; they must be the same')
        pred, target, mask = full_precision(pred), full_precision(target), whole_mask(mask, pred)
        refuse_not_finite(target, mask, names)
        self.check(target, mask, names)
        # Where the target is unknown the prediction takes its place: no error there, and no slope.
        known = target.isfinite()
        loss = self.compute(pred, target.where(known, pred.detach()), self.usable(target, mask))
        return self.loss_weight * loss

    def check(self, target: Tensor, mask: Tensor, names: Names) -> None:
        """Raise for values inside the mask that are finite and yet cannot be compared with."""

    def usable(self, target: Tensor, mask: Tensor) -> Tensor:
        """Those pixels of ``mask`` of which ``target``, as it came, says enough."""
        return mask

    @abstractmethod
    def compute(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        """The loss, a scalar, of finite ``target`` over ``mask`` (B, 1, H, W), bool."""


def whole_mask(mask: Optional[Tensor], like: Tensor) -> Tensor:
    """``mask`` as (B, 1, H, W) bool, the size of ``like`` (B, C, H, W); all true if there is none."""
    shape = (len(like), 1, *like.shape[2:])
    return torch.ones(shape, dtype=torch.bool, device=like.device) if mask is None else mask.bool().expand(shape)
