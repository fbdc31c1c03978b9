"""What tells a network that learns from one that has collapsed: figures of the teacher's assignments."""

from __future__ import annotations

import torch
from mmengine.dist import all_reduce
from torch import Tensor


@torch.no_grad()
def assignment_figures(log_assignments: Tensor, assignments: Tensor) -> dict[str, Tensor]:
    """Figures of the whole batch, of all processes.

    Args:
        log_assignments, assignments: (N, K), of this process; rows of the second sum to 1, the first is finite.

    Returns:
        teacher_entropy: mean entropy of an assignment in nats: 0 if each chooses one prototype, log K if it is uniform.
        prototype_kl: mean divergence, in nats, of an assignment from the mean one; what the assignment tells about the
            sample. 0 if all samples have the same, at most log of the smaller of N and K.
        prototypes_used: how many prototypes are the first choice of a sample.
    """
    rows, prototypes = assignments.shape
    entropy = -(assignments * log_assignments).sum() / rows
    first = torch.zeros_like(assignments[0]).scatter_(0, assignments.argmax(1), 1.0)
    shared = torch.cat([entropy[None], assignments.mean(0), first])
    all_reduce(shared, 'mean')
    entropy, mean, first = shared[0], shared[1:1 + prototypes], shared[1 + prototypes:]
    entropy_of_mean = -torch.special.xlogy(mean, mean).sum()
    return {'teacher_entropy': entropy, 'prototype_kl': entropy_of_mean - entropy,
            'prototypes_used': (first > 0).sum().to(entropy.dtype)}
