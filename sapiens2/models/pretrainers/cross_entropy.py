"""Cross-entropy between views of the same images, in little memory.

The loss of DINO (Caron et al., arXiv 2104.14294): each view of the student is compared with each view of the teacher
but itself. With 65,536 prototypes the logits are the largest tensors of the step, so they are read a view at a time,
stay in the dtype in which they come, and the assignments of all teacher views that a student view is compared with are
added first: cross-entropy is linear in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from sapiens2.models.losses.base import full_precision

Pairs = Sequence[Sequence[int]]


def other_views(teacher: int, student: int) -> list[list[int]]:
    """For each of ``student`` views, the teacher views it is compared with: all but the one of the same index.

    Raises:
        ValueError: if there is no pair.
    """
    pairs = [[index for index in range(teacher) if index != view] for view in range(student)]
    if not any(pairs):
        raise ValueError(f'the contrastive branch needs two different views of an image, got {teacher} global and '
                         f'{student - teacher} local crops: let MultiCrop cut 2 global ones, or 1 and local ones')
    return pairs


def paired_cross_entropy(logits: Tensor, targets: Tensor, pairs: Pairs, temperature: float) -> Tensor:
    """Mean, over all pairs and rows, of -sum_k target_k log softmax(logits / temperature)_k.

    Args:
        logits: (V, N, K) of the student's views, any floating dtype; computed with in float32 at least.
        targets: (T, N, K) of the teacher's views, rows sum to 1; no gradient.
        pairs: for each of the V views, the indices of teacher views it is compared with.
        temperature: of the student.

    Returns:
        A scalar.
    """
    return _PairedCrossEntropy.apply(logits, targets, pairs, temperature)


def _scaled(logits: Tensor, temperature: float) -> Tensor:
    return full_precision(logits) / temperature


def _sum_of(targets: Tensor, indices: Sequence[int]) -> Tensor:
    """Without a copy if it is one."""
    return reduce(torch.add, [targets[index] for index in indices])


class _PairedCrossEntropy(Function):

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, pairs: Pairs, temperature: float) -> Tensor:
        factor = 1 / (sum(map(len, pairs)) * logits.shape[1])
        loss, normalisers = 0, []
        for view, indices in zip(logits, pairs):
            scaled = _scaled(view, temperature)
            normalisers.append(scaled.logsumexp(-1))
            if indices:
                loss += factor * len(indices) * normalisers[-1].sum()
                loss -= factor * scaled.mul_(_sum_of(targets, indices)).sum()
        ctx.save_for_backward(logits, targets, *normalisers)
        ctx.pairs, ctx.temperature, ctx.factor = pairs, temperature, factor
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        logits, targets, *normalisers = ctx.saved_tensors
        slopes = torch.zeros_like(logits)
        factor = grad * (ctx.factor / ctx.temperature)
        for view, normaliser, indices, slope in zip(logits, normalisers, ctx.pairs, slopes):
            if indices:
                softmax = _scaled(view, ctx.temperature).sub_(normaliser[:, None]).exp_()
                slope.copy_(softmax.mul_(len(indices)).sub_(_sum_of(targets, indices)).mul_(factor))
        return slopes, None, None, None
