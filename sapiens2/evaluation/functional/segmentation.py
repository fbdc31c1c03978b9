"""Agreement of class labels, from three counts a class pooled over all pixels of a validation set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor

from sapiens2.evaluation.functional.sums import Sums

# Figure of the whole set -> figure of a class, of which it is the mean.
MEANS = {'mIoU': 'IoU', 'mAcc': 'Acc', 'mDice': 'Dice', 'mFscore': 'Fscore', 'mPrecision': 'Precision',
         'mRecall': 'Recall'}


def seg_sums(pred: Tensor, target: Tensor, num_classes: int, ignore_index: int = 255) -> Sums:
    """Pixels of each class, (num_classes,) int64: ``intersection`` labelled and predicted so, ``predicted``,
    ``labelled``.

    Args:
        pred, target: class labels of the same shape, integers.
        num_classes: labels are in [0, num_classes).
        ignore_index: pixels with this label in ``target`` do not count.

    Raises:
        ValueError: if a label that counts is not a class.
    """
    counts = target != ignore_index
    pred, target = pred[counts].long(), target[counts].long()
    for name, labels in (('predicted', pred), ('true', target)):
        if labels.numel() and not (0 <= int(labels.min()) and int(labels.max()) < num_classes):
            raise ValueError(f'{name} labels range from {int(labels.min())} to {int(labels.max())}, there are '
                             f'{num_classes} classes, 0 to {num_classes - 1}, and {ignore_index} for ignored pixels')
    return {name: torch.bincount(labels, minlength=num_classes) for name, labels in (
        ('intersection', pred[pred == target]), ('predicted', pred), ('labelled', target))}


def class_scores(sums: Sums) -> dict[str, Tensor]:
    """IoU, Acc, Dice, Fscore, Precision and Recall of each class, (num_classes,) float64 in [0, 1].

    A class without a labelled pixel has no figures: not a number. A class that has some but is never predicted has
    precision 0. Recall is the same as accuracy, the F-score the same as Dice.
    """
    right, predicted, labelled = (sums[name].double() for name in ('intersection', 'predicted', 'labelled'))
    accuracy, dice = right / labelled, 2 * right / (predicted + labelled)
    scores = {'IoU': right / (predicted + labelled - right), 'Acc': accuracy, 'Dice': dice, 'Fscore': dice,
              'Precision': right / predicted.clamp(min=1), 'Recall': accuracy}
    return {name: value.where(labelled > 0, torch.nan) for name, value in scores.items()}


def seg_scores(sums: Sums, nan_to_num: Optional[float] = None) -> dict[str, float]:
    """Accuracy over all pixels (aAcc) and means over the classes, percent.

    Args:
        sums: of ``seg_sums``.
        nan_to_num: figure, in [0, 1], of classes without a labelled pixel; None leaves them out of the means.
    """
    right, labelled = sums['intersection'].sum(), sums['labelled'].sum()
    scores, of_class = {'aAcc': right.double() / labelled}, class_scores(sums)
    for mean, name in MEANS.items():
        values = of_class[name] if nan_to_num is None else of_class[name].nan_to_num(nan_to_num)
        scores[mean] = values.nanmean()
    return {f'{name}_percent': 100 * float(value) for name, value in scores.items()}


def class_figures(sums: Sums, classes: Sequence[str]) -> dict[str, float]:
    """IoU and accuracy of each class that has a labelled pixel, percent."""
    scores = class_scores(sums)
    return {f'{figure}_percent/{name}': 100 * value for figure in ('IoU', 'Acc')
            for name, value in zip(classes, scores[figure].tolist()) if not math.isnan(value)}
