"""Losses of heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from torch import Tensor

from sapiens2.models.losses.base import Loss, finite_target
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

    def forward(self, pred: Tensor, target: Tensor, weights: Optional[Tensor] = None,
                names: Optional[Sequence[str]] = None) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            pred, target: heat maps (B, K, h, w).
            weights: (B, K), zero for key points that do not count.
            names: names of the samples, for errors.
        """
        weights = pred.new_ones(pred.shape[:2]) if weights is None or not self.use_target_weight else weights
        counts = (weights != 0)[..., None, None]
        error = (pred.float() - finite_target(target, counts, names)).square().where(counts, 0.0)
        return self.loss_weight * self.reduce(error.mean((2, 3)) * weights.float())

    def reduce(self, errors: Tensor) -> Tensor:
        """From the error of each key point (B, K) to a scalar."""
        return errors.mean()


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
        return errors.topk(self.topk, dim=1).values.mean()
