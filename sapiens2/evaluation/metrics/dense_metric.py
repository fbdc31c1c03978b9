"""What the metrics of the dense tasks share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from mmengine.evaluator import BaseMetric
from torch import Tensor

from sapiens2.evaluation.functional.sums import Sums, add
from sapiens2.evaluation.metrics.samples import Sample, take
from sapiens2.structures.names import sample_name
from sapiens2.utils.logging import log_details
from sapiens2.utils.text_table import figure_table


class DenseMetric(BaseMetric):
    """Reduces each sample to a few sums, which is all that is kept, on the device where its prediction is (or the CPU).

    One small dictionary a sample, not one in all, so that MMEngine can drop the samples that distributed samplers
    repeat. Ground truth is read from ``eval_fields``, predictions from ``pred_fields``, both at the size of the source
    image.

    Args:
        kwargs: ``collect_device``, ``prefix`` and ``collect_dir`` of MMEngine's ``BaseMetric``.
    """

    # The compared field; the target's has the same name.
    field: ClassVar[str]

    def process(self, data_batch: Any, data_samples: Sequence[Sample]) -> None:
        """Add the sums of a batch.

        Raises:
            UnknownNameError: naming a sample and the field that it lacks.
            ValueError: naming a sample whose prediction and ground truth differ in size, or hold wrong values.
        """
        for index, sample in enumerate(data_samples):
            pred = take(sample, index, 'pred_fields', self.field)
            if pred.device.type == 'mps':
                pred = pred.cpu()  # sums are float64, which MPS does not have
            target = take(sample, index, 'eval_fields', self.field).to(pred.device)
            if pred.shape != target.shape:
                raise ValueError(f'{sample_name(sample, index)}: pred_fields.{self.field} has shape '
                                 f'{tuple(pred.shape)}, eval_fields.{self.field} has {tuple(target.shape)}; both must '
                                 'have the size of the source image, ori_shape')
            sums = self.sums(pred, target, sample, index)
            self.results.append({name: value.cpu() for name, value in sums.items()})

    def compute_metrics(self, results: list[Sums]) -> dict[str, float]:
        """Figures of the whole set.

        Raises:
            ValueError: if there are no samples.
        """
        if not results:
            raise ValueError(f'{type(self).__name__} has seen no samples: the validation set is empty')
        return self.scores(add(results))

    @abstractmethod
    def sums(self, pred: Tensor, target: Tensor, sample: Sample, index: int) -> Sums:
        """Sums of one sample, which may be added to those of others."""

    @abstractmethod
    def scores(self, sums: Sums) -> dict[str, float]:
        """Figures from the sums of the whole set."""


class MaskedMetric(DenseMetric):
    """A metric over the pixels of ``eval_fields.mask`` (1, H, W). A subclass has ``sums_of_batch`` and ``figures``."""

    def scores(self, sums: Sums) -> dict[str, float]:
        scores = self.figures(sums)
        log_details(f'\n{figure_table(scores)}')
        return scores

    @abstractmethod
    def figures(self, sums: Sums) -> dict[str, float]:
        """As ``scores``, which logs them too."""

    def sums(self, pred: Tensor, target: Tensor, sample: Sample, index: int) -> Sums:
        mask = take(sample, index, 'eval_fields', 'mask').to(pred.device).bool()
        if mask.shape != (1, *pred.shape[1:]):
            raise ValueError(f'{sample_name(sample, index)}: eval_fields.mask has shape {tuple(mask.shape)}, expected '
                             f'{(1, *pred.shape[1:])}')
        for part, values in (('pred_fields', pred), ('eval_fields', target)):
            wrong = int((~values.isfinite() & mask).sum())
            if wrong:
                raise ValueError(f'{sample_name(sample, index)}: {part}.{self.field} has {wrong} values inside the '
                                 'mask that are not finite')
        return self.sums_of_batch(pred[None], target[None], mask[None])

    @abstractmethod
    def sums_of_batch(self, pred: Tensor, target: Tensor, mask: Tensor) -> Sums:
        """Sums of (B, C, H, W) values over the pixels of ``mask`` (B, 1, H, W)."""
