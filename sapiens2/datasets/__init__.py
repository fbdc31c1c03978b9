"""Data sets, samplers and transforms, and the tables of key points and classes.

Programs that need the tables and the errors alone, such as ``sapiens2 synth``, start without torch: data sets are
imported when they are first asked for.
"""

from typing import Any

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import load_metainfo

_COMPONENTS = (
    'BaseHumanDataset', 'CocoPoseDataset', 'CocoSegDataset', 'DenseFolderDataset', 'MixedDataset',
    'PretrainFolderDataset', 'PretrainParquetDataset', 'PretrainShardsDataset', 'collate_crops')

__all__ = ['DataError', 'load_metainfo', *_COMPONENTS]  # noqa: F822


def __getattr__(name: str) -> Any:
    if name not in _COMPONENTS:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    from sapiens2.datasets import components
    return getattr(components, name)
