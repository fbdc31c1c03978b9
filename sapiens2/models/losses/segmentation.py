"""Losses of segmentation: cross-entropy and Dice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.losses.base import Loss, sample_label
from sapiens2.registry import MODELS
from sapiens2.utils.suggest import unknown_name

REDUCTIONS = ('none', 'mean')


def check_labels(labels: Tensor, num_classes: int, ignore_index: int, names: Optional[Sequence[str]]) -> None:
    """Raise unless every label (B, H, W) is a class or ignored.

    Raises:
        ValueError: naming the sample and the labels.
    """
    wrong = ((labels < 0) | (labels >= num_classes)) & (labels != ignore_index)
    if wrong.any():
        index = int(wrong.flatten(1).any(1).int().argmax())
        values = labels[index][wrong[index]].unique().tolist()
        raise ValueError(f'the labels of {sample_label(index, names)} hold {values[:10]}; allowed are 0 to '
                         f'{num_classes - 1} and {ignore_index} (ignored). Map the labels or raise num_classes')


class SegLoss(Loss):
    """Base of the two.

    Args:
        reduction: 'none' or 'mean'.
        ignore_index: label of pixels that do not count.
    """

    inputs = ('pred', 'target', 'names')

    def __init__(self, reduction: str = 'mean', ignore_index: int = 255, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if reduction not in REDUCTIONS:
            raise ValueError(unknown_name(reduction, REDUCTIONS, 'reduction'))
        self.reduction, self.ignore_index = reduction, ignore_index

    def forward(self, pred: Tensor, target: Tensor, names: Optional[Sequence[str]] = None) -> Tensor:
        """Return the weighted loss.

        Args:
            pred: logits (B, classes, H, W).
            target: class indices (B, H, W).
            names: names of the samples, for errors.
        """
        target = target.long()
        check_labels(target, pred.shape[1], self.ignore_index, names)
        loss = self.compute(pred.float(), target)
        return self.loss_weight * (loss.mean() if self.reduction == 'mean' else loss)

    def compute(self, pred: Tensor, target: Tensor) -> Tensor:
        raise NotImplementedError


@MODELS.register_module()
class CrossEntropyLoss(SegLoss):
    """Cross-entropy of each pixel (B, H, W); ignored pixels give zero and count in the mean.

    Args:
        class_weight: factor of each class; the mean is not divided by their sum.
    """

    default_name = 'loss_ce'

    def __init__(self, class_weight: Optional[Sequence[float]] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # No buffer: it would stay on the meta device with a model that is built there, and be rounded with its dtype.
        self.class_weight = None if class_weight is None else tuple(class_weight)

    def compute(self, pred: Tensor, target: Tensor) -> Tensor:
        if self.class_weight is not None and len(self.class_weight) != pred.shape[1]:
            raise ValueError(f'class_weight has {len(self.class_weight)} entries for {pred.shape[1]} classes')
        weight = None if self.class_weight is None else pred.new_tensor(self.class_weight)
        return F.cross_entropy(pred, target, weight, ignore_index=self.ignore_index, reduction='none')


@MODELS.register_module()
class DiceLoss(SegLoss):
    """One minus the Dice coefficient with squared sizes of each image (B,) (Milletari et al., V-Net, arXiv 1606.04797).

    Args:
        include_background: whether class 0 counts.
        smooth: added to numerator and denominator, so that a class which is neither there nor predicted costs nothing.
    """

    default_name = 'loss_dice'

    def __init__(self, include_background: bool = False, smooth: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.first, self.smooth = 0 if include_background else 1, smooth

    def compute(self, pred: Tensor, target: Tensor) -> Tensor:
        valid = target != self.ignore_index
        truth = F.one_hot(target.where(valid, 0), pred.shape[1]).movedim(-1, 1) * valid.unsqueeze(1)
        pred, truth = pred.softmax(1) * valid.unsqueeze(1), truth.to(pred.dtype)
        pred, truth = pred[:, self.first:], truth[:, self.first:]
        overlap, sizes = (pred * truth).sum((2, 3)), pred.square().sum((2, 3)) + truth.sum((2, 3))
        dice = (2 * overlap + self.smooth) / (sizes + self.smooth)
        return (1 - dice).mean(1) * valid.flatten(1).any(1)
