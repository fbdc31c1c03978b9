"""The data sample: the contract between data sets, models, metrics and pictures."""

from sapiens2.structures.data_sample import DataSample

__all__ = ['DataSample']
