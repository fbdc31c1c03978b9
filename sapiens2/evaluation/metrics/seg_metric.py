"""Metric of body-part segmentation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Optional

from mmengine.logging import print_log
from torch import Tensor

from sapiens2.datasets.metainfo import IGNORE_LABEL
from sapiens2.evaluation.functional import Sums, class_figures, class_scores, seg_scores, seg_sums
from sapiens2.evaluation.metrics.dense_metric import DenseMetric
from sapiens2.evaluation.metrics.samples import Sample
from sapiens2.registry import METRICS
from sapiens2.structures.names import sample_name
from sapiens2.utils.logging import log_details
from sapiens2.utils.text_table import figure_table, text_table


@METRICS.register_module()
class SegMetric(DenseMetric):
    """Agreement of class labels, pooled over all pixels: ``seg_scores`` and ``class_figures``, keys after ``seg/``.

    A table of all classes is logged. A class that the validation set lacks has no figures, is left out of the means and
    is named in the log.

    Args:
        classes: names of the classes, by label; those of the data set by default.
        ignore_index: label of pixels that do not count.
        nan_to_num: figure, in [0, 1], given to the classes that the validation set lacks, in place of leaving them out.
        kwargs: of ``DenseMetric``.
    """

    default_prefix = 'seg'
    field = 'sem_seg'

    def __init__(self, classes: Optional[Sequence[str]] = None, ignore_index: int = IGNORE_LABEL,
                 nan_to_num: Optional[float] = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.own_classes = classes
        self.ignore_index, self.nan_to_num = ignore_index, nan_to_num
        self._missing: list[str] = []  # classes that were said to be missing

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes.

        Raises:
            ValueError: if neither the metric nor the data set names them.
        """
        classes = self.own_classes or (self.dataset_meta or {}).get('classes')
        if not classes:
            raise ValueError('SegMetric does not know the classes: its data set has no classes in its metainfo; give '
                             'SegMetric(classes=[...])')
        return classes

    def sums(self, pred: Tensor, target: Tensor, sample: Sample, index: int) -> Sums:
        try:
            return seg_sums(pred, target, len(self.classes), self.ignore_index)
        except ValueError as error:
            raise ValueError(f'{sample_name(sample, index)}: {error}') from error

    def scores(self, sums: Sums) -> dict[str, float]:
        scores = seg_scores(sums, self.nan_to_num)
        log_details(f'\n{class_table(sums, self.classes)}\n\n{figure_table(scores)}')
        missing = [name for name, pixels in zip(self.classes, sums['labelled']) if not pixels]
        if missing and missing != self._missing:  # once, not at each validation of a training
            self._missing = missing
            treatment = 'are left out of the means' if self.nan_to_num is None else f'count as {self.nan_to_num:g}'
            print_log(f'{len(missing)} of {len(self.classes)} classes have no pixel in the validation set and '
                      f'{treatment}: {", ".join(missing)}', logger='current', level=logging.WARNING)
        return {**scores, **class_figures(sums, self.classes)}


def class_table(sums: Sums, classes: Sequence[str]) -> str:
    """IoU and accuracy of each class, percent, and its labelled pixels, as lines of text."""
    scores = class_scores(sums)
    rows = zip(classes, scores['IoU'].tolist(), scores['Acc'].tolist(), sums['labelled'].tolist())
    return text_table(('class', 'IoU (%)', 'Acc (%)', 'labelled pixels'), [
        (name, f'{100 * iou:.2f}', f'{100 * accuracy:.2f}', f'{pixels:,}') if pixels else (name, '-', '-', '0')
        for name, iou, accuracy, pixels in rows])
