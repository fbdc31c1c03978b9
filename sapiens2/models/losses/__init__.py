"""Losses of the five tasks."""

from sapiens2.models.losses.base import Loss, MaskedLoss
from sapiens2.models.losses.keypoint import KeypointMSELoss, KeypointOHKMMSELoss
from sapiens2.models.losses.pointmap import (PointmapIntrinsicsConsistencyLoss, PointmapNormalLoss, PointmapScaleL1Loss,
                                             PointmapShiftInvariantL1Loss, SiLogLoss)
from sapiens2.models.losses.regression import (AlbedoChromaticityL1Loss, GradientMSELoss, L1Loss, MultiscaleL1Loss,
                                               NormalCosineSimilarityLoss)
from sapiens2.models.losses.segmentation import CrossEntropyLoss, DiceLoss

__all__ = [
    'AlbedoChromaticityL1Loss', 'CrossEntropyLoss', 'DiceLoss', 'GradientMSELoss', 'KeypointMSELoss',
    'KeypointOHKMMSELoss', 'L1Loss', 'Loss', 'MaskedLoss', 'MultiscaleL1Loss', 'NormalCosineSimilarityLoss',
    'PointmapIntrinsicsConsistencyLoss', 'PointmapNormalLoss', 'PointmapScaleL1Loss', 'PointmapShiftInvariantL1Loss',
    'SiLogLoss'
]
