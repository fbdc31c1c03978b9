"""Metric of alpha mattes."""

from __future__ import annotations

import torch
from torch import Tensor

from projects.matting.matting_figures import connectivity_error, gradient_error, mse, sad
from sapiens2.evaluation.functional.sums import Sums, ratio
from sapiens2.evaluation.metrics.dense_metric import DenseMetric
from sapiens2.evaluation.metrics.samples import Sample
from sapiens2.registry import METRICS
from sapiens2.structures.names import sample_name
from sapiens2.utils.logging import log_details
from sapiens2.utils.text_table import figure_table

FIGURES = {'sad_thousands': sad, 'mse': mse, 'grad_thousands': gradient_error, 'conn_thousands': connectivity_error}


@METRICS.register_module()
class MattingMetric(DenseMetric):
    """SAD, MSE, Grad and Conn of opacities in [0, 1], means over the pictures.

    Keys, after ``matting/``: ``sad_thousands``, ``mse``, ``grad_thousands``, ``conn_thousands``; all but ``mse`` are
    sums over the pixels of a picture divided by 1000, so they grow with its size.
    """

    default_prefix = 'matting'
    field = 'alpha'

    def sums(self, pred: Tensor, target: Tensor, sample: Sample, index: int) -> Sums:
        for part, values in (('pred_fields', pred), ('eval_fields', target)):
            if not (values.min() >= 0 and values.max() <= 1):  # NaN included
                raise ValueError(f'{sample_name(sample, index)}: {part}.alpha must lie in [0, 1]; it goes from '
                                 f'{float(values.min()):.3g} to {float(values.max()):.3g}')
        maps = pred[0].float().cpu().numpy(), target[0].float().cpu().numpy()
        sums = {name: torch.tensor(figure(*maps), dtype=torch.float64) for name, figure in FIGURES.items()}
        return {**sums, 'pictures': torch.tensor(1.0, dtype=torch.float64)}

    def scores(self, sums: Sums) -> dict[str, float]:
        scores = {name: ratio(sums[name], sums['pictures']) for name in FIGURES}
        log_details(f'\n{figure_table(scores)}')
        return scores
