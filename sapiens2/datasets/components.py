"""Data sets, samplers and transforms; importing this enters them in their registries."""

from sapiens2.datasets import samplers, transforms
from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.coco_seg import CocoSegDataset
from sapiens2.datasets.dense import DenseFolderDataset
from sapiens2.datasets.mixed import MixedDataset
from sapiens2.datasets.pose import CocoPoseDataset
from sapiens2.datasets.pretrain import (
    PretrainFolderDataset, PretrainParquetDataset, PretrainShardsDataset, collate_crops)

__all__ = [
    'BaseHumanDataset', 'CocoPoseDataset', 'CocoSegDataset', 'DenseFolderDataset', 'MixedDataset',
    'PretrainFolderDataset', 'PretrainParquetDataset', 'PretrainShardsDataset', 'collate_crops', 'samplers',
    'transforms']
