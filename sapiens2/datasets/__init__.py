"""Data sets, samplers and transforms."""

from sapiens2.datasets import samplers, transforms
from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.coco_seg import CocoSegDataset
from sapiens2.datasets.dense import DenseFolderDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.datasets.mixed import MixedDataset
from sapiens2.datasets.pose import CocoPoseDataset
from sapiens2.datasets.pretrain import (
    PretrainFolderDataset, PretrainParquetDataset, PretrainShardsDataset, collate_crops)

__all__ = [
    'BaseHumanDataset', 'CocoPoseDataset', 'CocoSegDataset', 'DataError', 'DenseFolderDataset', 'MixedDataset',
    'PretrainFolderDataset', 'PretrainParquetDataset', 'PretrainShardsDataset', 'collate_crops', 'load_metainfo',
    'samplers', 'transforms']
