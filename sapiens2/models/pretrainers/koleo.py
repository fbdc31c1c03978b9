"""The KoLeo term: samples of a batch spread over the sphere.

Differential-entropy estimate of Kozachenko and Leonenko as a regulariser (Sablayrolles et al., arXiv 1806.03198), on
class tokens as in DINOv2 (Oquab et al., arXiv 2304.07193). Differs from both in that distances are rounded off by
``sqrt(EPS)`` and not shifted, so that two equal samples have a gradient of zero instead of none, and in that neighbours
are looked for among the samples of all processes.
"""

from __future__ import annotations

from typing import Any

import torch
from mmengine.dist import all_gather, all_reduce, get_rank
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from sapiens2.models.losses.base import full_precision

EPS = 1e-8  # of squared distances


class _GatherRows(Function):
    """Rows of all processes in the order of their ranks; gradients that others have for own rows come back, summed."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.count = len(rows)
        return torch.cat(all_gather(rows.contiguous()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        grad = grad.clone(memory_format=torch.contiguous_format)
        all_reduce(grad)
        return grad[get_rank() * ctx.count:][:ctx.count]


def koleo(tokens: Tensor) -> Tensor:
    """Mean of -log of the distance from each sample, scaled to length one, to its nearest neighbour; summed over crops.

    Args:
        tokens: (G, B, C) of this process, as many in each process: neighbours are looked for in each crop by itself, in
            the whole batch.

    Returns:
        A scalar: of own samples. The mean over the processes is that of the whole batch, and so is its gradient.

    Raises:
        ValueError: if the whole batch is one sample.
    """
    with torch.autocast(tokens.device.type, enabled=False):
        own = F.normalize(full_precision(tokens), dim=-1).transpose(0, 1)  # samples first, to be gathered
        everyone = _GatherRows.apply(own)
        if len(everyone) < 2:
            raise ValueError('KoLeo needs a neighbour of each sample: a batch of at least 2 (over all processes), or '
                             'koleo_weight=0')
        return sum(_koleo_of_crop(own[:, crop], everyone[:, crop]) for crop in range(len(tokens)))


def _koleo_of_crop(own: Tensor, everyone: Tensor) -> Tensor:
    with torch.no_grad():
        similarity = own @ everyone.T
        similarity.diagonal(get_rank() * len(own)).fill_(-torch.inf)
        nearest = similarity.argmax(1)
    squared = (own - everyone[nearest]).square().sum(1)
    return -0.5 * (squared + EPS).log().mean()
