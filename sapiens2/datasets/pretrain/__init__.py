"""Images without annotations, in folders, tar shards or Parquet files."""

from sapiens2.datasets.pretrain.base import PretrainDataset
from sapiens2.datasets.pretrain.collate import collate_crops
from sapiens2.datasets.pretrain.folder import PretrainFolderDataset
from sapiens2.datasets.pretrain.parquet import PretrainParquetDataset
from sapiens2.datasets.pretrain.shards import PretrainShardsDataset

__all__ = ['PretrainDataset', 'PretrainFolderDataset', 'PretrainParquetDataset', 'PretrainShardsDataset',
           'collate_crops']
