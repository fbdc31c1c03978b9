"""What metrics of geometry share: predictions are aligned with the truth before they are measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import torch
from torch import Tensor

from sapiens2.evaluation.functional import (DEPTH_FITS, POINT_FITS, AlignmentError, align_depth,
                                            align_points, disparity_to_depth)
from sapiens2.evaluation.metrics.dense_metric import MaskedMetric
from sapiens2.evaluation.metrics.samples import Sample, take
from sapiens2.structures.names import sample_name
from sapiens2.utils.choices import ALIGNMENTS
from sapiens2.utils.pinhole import unproject
from sapiens2.utils.suggest import check_names

Fields = Mapping[str, Tensor]
# What may be predicted, the field that counts first.
_PREDICTED = ('pointmap', 'disparity', 'depth')


class AlignedMetric(MaskedMetric):
    """A metric of depth or points, which an image's prediction may be aligned for.

    Args:
        align: a name of ``ALIGNMENTS``. See ``aligned_fields``.
        kwargs: of ``DenseMetric``.

    Raises:
        UnknownNameError: if there is no such alignment.
    """

    def __init__(self, align: str = 'none', **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_names([align], ALIGNMENTS, 'align', 'alignment')
        self.align = align

    def process(self, data_batch: Any, data_samples: Sequence[Sample]) -> None:
        """See ``DenseMetric``.

        Raises:
            ValueError: also naming a sample that cannot be aligned.
        """
        data_samples = [self._aligned(sample, index) if self._differs(sample) else sample
                        for index, sample in enumerate(data_samples)]
        super().process(data_batch, data_samples)

    def _differs(self, sample: Sample) -> bool:
        """Whether the field has to be aligned, or made of what was predicted in its place."""
        pred = sample.get('pred_fields', {})
        return any(name in pred for name in _PREDICTED) and (self.align != 'none' or self.field not in pred)

    def _aligned(self, sample: Sample, index: int) -> dict[str, Any]:
        name = sample_name(sample, index)
        truth = {field: take(sample, index, 'eval_fields', field) for field in ('pointmap', 'mask')}
        pred = dict(sample.get('pred_fields', {}).items())
        for field in _PREDICTED:
            if field in pred and pred[field].shape[1:] != truth['mask'].shape[1:]:
                raise ValueError(f'{name}: the predicted {field} has (H, W) {tuple(pred[field].shape[1:])}, the image '
                                 f'{tuple(truth["mask"].shape[1:])}: they must be equal')
        try:
            return {**sample, 'pred_fields': {**pred, **aligned_fields(pred, truth, self.align)}}
        except AlignmentError as error:
            raise ValueError(f'{name}: align={self.align!r}: {error}') from error


def aligned_fields(pred: Fields, truth: Fields, alignment: str) -> dict[str, Tensor]:
    """Depth (1, H, W) and, where it can be had, points (3, H, W) of an image after alignment.

    Where points were predicted, an alignment of points moves them, and depth is their z; one of depth alone moves each
    point along its ray. Where depth was predicted, its points, which need ``K``, are made of the aligned depth.

    Args:
        pred: ``pointmap`` (3, H, W); or ``depth`` (1, H, W), or ``disparity`` (1, H, W), inverse depth of unknown
            scale and shift, with ``K`` (3, 3) where it is known.
        truth: ``pointmap`` (3, H, W), metres, and ``mask`` (1, H, W).
        alignment: a name of ``ALIGNMENTS``.

    Raises:
        AlignmentError: if nothing can be fitted, or the prediction takes no such alignment.
    """
    mask = truth['mask'].bool() & torch.isfinite(pred[next(f for f in _PREDICTED if f in pred)]
                                                 ).all(0, keepdim=True).to(truth['mask'].device)
    target, depth = truth['pointmap'], truth['pointmap'][2:]
    if 'disparity' in pred:
        if alignment != 'disparity':
            raise AlignmentError('inverse depth of unknown scale and shift was predicted, which needs '
                                 "align='disparity'")
        return _with_points(pred, disparity_to_depth(pred['disparity'], depth, mask))
    if 'pointmap' in pred and 'K' not in pred and alignment in ('none', *POINT_FITS):
        points = align_points(pred['pointmap'], target, mask, alignment)
        return {'pointmap': points, 'depth': points[2:]}
    if 'pointmap' in pred and 'K' not in pred:
        old = pred['pointmap'][2:]
        new = align_depth(old, depth, mask, alignment)
        return {'pointmap': pred['pointmap'] * (new / old), 'depth': new}
    if alignment not in ('none', *DEPTH_FITS):
        raise AlignmentError(f'depth was predicted, and {alignment!r} is of points; for depth there are '
                             f'{", ".join(DEPTH_FITS)}')
    return _with_points(pred, align_depth(pred['depth'], depth, mask, alignment))


def _with_points(pred: Mapping[str, Union[Tensor, Any]], depth: Tensor) -> dict[str, Tensor]:
    if 'K' not in pred:
        return {'depth': depth}
    points = unproject(depth[0].cpu().numpy(), pred['K'].cpu().numpy())
    return {'depth': depth, 'pointmap': torch.from_numpy(points).permute(2, 0, 1).to(depth.device)}
