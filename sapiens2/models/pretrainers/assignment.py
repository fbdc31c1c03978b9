"""How the teacher's cosines to the prototypes become soft assignments, which the student learns.

Both ways keep all samples from having the same assignment:

* ``Sinkhorn``: the batch as a whole uses all prototypes alike (SwAV, Caron et al., arXiv 2006.09882; for a teacher,
  DINOv2, Oquab et al., arXiv 2304.07193).
* ``Centring``: the mean of the teacher's outputs is subtracted before the softmax (DINO, arXiv 2104.14294).

All processes share one batch: what comes out does not depend on how it is spread over them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from mmengine.dist import all_reduce, get_world_size
from torch import Tensor, nn

from sapiens2.models.losses.base import full_precision
from sapiens2.registry import MODELS


class Assignment(nn.Module, ABC):
    """Base of the ways to assign.

    Args:
        prototypes: how many there are (K).
    """

    def __init__(self, prototypes: int) -> None:
        super().__init__()
        self.prototypes = prototypes

    @abstractmethod
    def forward(self, cosines: Tensor, temperature: float) -> Tensor:
        """(N, K) of this process -> logarithms of the assignments (N, K), float32, whose exponentials sum to 1 in each
        row. ``cosines`` may be overwritten.
        """

    def update(self) -> None:
        """Take in the batches since the last call; once an update of the weights."""


@MODELS.register_module()
class Sinkhorn(Assignment):
    """Scales columns and rows of exp(cosines / temperature) in turn, so that prototypes get equal shares.

    Works on logarithms: at any temperature nothing overflows, and a prototype far from all samples divides by no zero.

    Args:
        prototypes: how many there are (K).
        iterations: how often; rows come last and sum to 1 exactly, columns to N / K approximately.
    """

    def __init__(self, prototypes: int, iterations: int = 3) -> None:
        super().__init__(prototypes)
        if iterations < 1:
            raise ValueError(f'assignment: iterations of Sinkhorn must be at least 1, got {iterations}')
        self.iterations = iterations

    @torch.no_grad()
    def forward(self, cosines: Tensor, temperature: float) -> Tensor:
        logits = full_precision(cosines).div_(temperature)
        for _ in range(self.iterations):
            logits -= _logsumexp_of_all_rows(logits)
            logits -= logits.logsumexp(1, keepdim=True)
        return logits


def _logsumexp_of_all_rows(logits: Tensor) -> Tensor:
    """``logsumexp`` of each column, over the rows of all processes, (1, K)."""
    own = logits.logsumexp(0, keepdim=True)
    if get_world_size() == 1:
        return own
    largest = own.clone()
    all_reduce(largest, 'max')
    total = (own - largest).exp_()
    all_reduce(total)
    return total.log_().add_(largest)


@MODELS.register_module()
class Centring(Assignment):
    """Softmax of what lies above a running mean of the teacher's cosines.

    The mean moves once an update of the weights, by the mean of all batches of that update: batches that are
    accumulated count as one large batch.

    Args:
        prototypes: how many there are (K).
        momentum: share of the old mean that is kept, in [0, 1).
    """

    def __init__(self, prototypes: int, momentum: float = 0.9) -> None:
        super().__init__(prototypes)
        if not 0 <= momentum < 1:
            raise ValueError(f'assignment: momentum of Centring must be in [0, 1), got {momentum}')
        self.momentum = momentum
        self.register_buffer('centre', torch.zeros(1, prototypes))
        self._means: list[Tensor] = []  # of the batches since the last update

    @torch.no_grad()
    def forward(self, cosines: Tensor, temperature: float) -> Tensor:
        cosines = full_precision(cosines)
        if self.training:
            self._means.append(cosines.mean(0, keepdim=True))
        return cosines.sub_(self.centre).div_(temperature).log_softmax(1)

    @torch.no_grad()
    def update(self) -> None:
        if self._means:
            mean = torch.stack(self._means).mean(0)
            all_reduce(mean, 'mean')
            self.centre.lerp_(mean.to(self.centre.dtype), 1 - self.momentum)
            self._means = []
