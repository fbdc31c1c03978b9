"""What the dense metrics share: picking masked pixels, and sums that may be added."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

Sums = dict[str, Tensor]


def add(parts: Iterable[Sums]) -> Sums:
    """The sums of all ``parts`` together, by name; an empty dictionary if there are none."""
    total: Sums = {}
    for part in parts:
        total = {name: total[name] + value for name, value in part.items()} if total else dict(part)
    return total


def masked(maps: Tensor, mask: Tensor) -> Tensor:
    """Values (P, C), float32, of ``maps`` (B, C, H, W) at the P pixels of ``mask`` (B, 1, H, W), bool."""
    return maps.permute(0, 2, 3, 1)[mask[:, 0]].float()


def total(values: Tensor) -> Tensor:
    """Sum over the pixels, the first dimension, in float64."""
    return values.sum(0, dtype=torch.float64)


def count(mask: Tensor) -> Tensor:
    """Number of true entries, float64."""
    return mask.sum(dtype=torch.float64)


def ratio(value: Tensor, number: Tensor) -> float:
    """``value / number``; not a number if ``number`` is zero."""
    return float(value) / float(number) if float(number) else math.nan
