"""Losses of segmentation: cross-entropy and Dice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from sapiens2.models.losses.base import Loss, Names, full_precision, mean, sample_label
from sapiens2.registry import MODELS
from sapiens2.utils.suggest import UnknownNameError, unknown_name

REDUCTIONS = ('none', 'mean')


def check_labels(labels: Tensor, num_classes: int, ignore_index: int, names: Names) -> None:
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


class SegLoss(Loss, ABC):
    """Base of the two.

    Args:
        reduction: 'none' or 'mean'.
        ignore_index: label of pixels that do not count.
    """

    inputs = ('pred', 'target', 'names')

    def __init__(self, reduction: str = 'mean', ignore_index: int = 255, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if reduction not in REDUCTIONS:
            raise UnknownNameError(unknown_name(reduction, REDUCTIONS, 'reduction'))
        self.reduction, self.ignore_index = reduction, ignore_index

    def forward(self, pred: Tensor, target: Tensor, names: Names = None) -> Tensor:
        """Return the weighted loss.

        Args:
            pred: logits (B, classes, H, W).
            target: class indices (B, H, W), integers.
            names: names of the samples, for errors.

        Raises:
            ValueError: if a label is neither a class nor ignored, or no integer.
        """
        if target.is_floating_point():
            raise ValueError(f'{type(self).__name__}: labels are {target.dtype}, expected integers')
        target = target.long()
        check_labels(target, pred.shape[1], self.ignore_index, names)
        loss = self.compute(full_precision(pred), target)
        return self.loss_weight * (mean(loss) if self.reduction == 'mean' else loss)

    @abstractmethod
    def compute(self, pred: Tensor, target: Tensor) -> Tensor:
        """The loss, not reduced, of logits (B, classes, H, W) and labels (B, H, W), int64."""


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
    """One minus the Dice coefficient with squared sizes, for each image (B,).

    Milletari et al., V-Net, arXiv 1606.04797; the mean over the classes.

    Args:
        include_background: whether class 0 counts.
        smooth: added to numerator and denominator, so that a class which is neither there nor predicted costs nothing.
    """

    default_name = 'loss_dice'

    def __init__(self, include_background: bool = False, smooth: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.first, self.smooth = 0 if include_background else 1, smooth

    def compute(self, pred: Tensor, target: Tensor) -> Tensor:
        target = target.unsqueeze(1)
        classes = torch.arange(self.first, pred.shape[1], device=pred.device).view(1, -1, 1, 1)
        valid, truth = target != self.ignore_index, target == classes
        pred = pred.softmax(1)[:, self.first:].where(valid, 0.0)
        overlap, sizes = pred.where(truth, 0.0).sum((2, 3)), pred.square().sum((2, 3)) + truth.sum((2, 3))
        return 1 - ((2 * overlap + self.smooth) / (sizes + self.smooth)).mean(1)
