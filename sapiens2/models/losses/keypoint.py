"""Losses of heat maps."""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

from sapiens2.models.losses.base import Loss, Names, full_precision, mean, refuse_not_finite
from sapiens2.registry import MODELS


@MODELS.register_module()
class KeypointMSELoss(Loss):
    """Squared error of heat maps, times the weight of each key point, averaged over everything.

    Args:
        use_target_weight: whether the weights count.
    """

    inputs = ('pred', 'target', 'weights', 'names')
    default_name = 'loss_kpt'

    def __init__(self, use_target_weight: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_target_weight = use_target_weight

    def forward(self, pred: Tensor, target: Tensor, weights: Optional[Tensor] = None, names: Names = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred, target: heat maps (B, K, h, w).
            weights: (B, K), zero for key points that do not count; their target may hold anything.
            names: names of the samples, for errors.

        Raises:
            ValueError: if the target of a key point that counts is not finite.
        """
        pred, target = full_precision(pred), full_precision(target)
        if weights is None or not self.use_target_weight:
            weights = pred.new_ones(pred.shape[:2])
        counts = (weights != 0)[..., None, None]
        refuse_not_finite(target, counts, names)
        error = (pred - target).where(counts, 0.0).square()
        return self.loss_weight * self.reduce(error.mean((2, 3)) * weights)

    def reduce(self, errors: Tensor) -> Tensor:
        """From the error of each key point (B, K) to a scalar."""
        return mean(errors)


@MODELS.register_module()
class KeypointOHKMMSELoss(KeypointMSELoss):
    """``KeypointMSELoss`` of the hardest key points of each person (Chen et al., arXiv 1711.07319).

    Args:
        topk: how many key points count.
    """

    default_name = 'loss_ohkm'

    def __init__(self, topk: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.topk = topk

    def reduce(self, errors: Tensor) -> Tensor:
        if self.topk > errors.shape[1]:
            raise ValueError(f'topk is {self.topk}, but there are {errors.shape[1]} key points')
        return mean(errors.topk(self.topk, dim=1).values)
