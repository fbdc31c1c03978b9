"""Steps of a data pipeline. They change one dictionary, whose keys are the fields of ``DataSample`` as NumPy arrays."""

from sapiens2.datasets.transforms.background import RandomBackground
from sapiens2.datasets.transforms.crop import RandomAreaCrop, RandomCrop
from sapiens2.datasets.transforms.formatting import PackInputs
from sapiens2.datasets.transforms.loading import LoadFields, LoadImage
from sapiens2.datasets.transforms.photometric import (
    BoxBlur, CoarseDropout, GaussianBlur, GaussianNoise, MedianBlur, PhotometricDistortion, Solarize)
from sapiens2.datasets.transforms.resize import DownUpSample, RandomResize, RandomScale, Resize
from sapiens2.datasets.transforms.targets import GenerateHeatmaps, GeneratePointmap
from sapiens2.datasets.transforms.topdown import (
    GetBBoxCenterScale, RandomBBoxTransform, RandomHalfBody, TopdownAffine)
from sapiens2.datasets.transforms.turn import RandomFlip, RandomRotate

__all__ = [
    'BoxBlur', 'CoarseDropout', 'DownUpSample', 'GaussianBlur', 'GaussianNoise', 'GenerateHeatmaps',
    'GeneratePointmap', 'GetBBoxCenterScale', 'LoadFields', 'LoadImage', 'MedianBlur', 'PackInputs',
    'PhotometricDistortion', 'RandomAreaCrop', 'RandomBBoxTransform', 'RandomBackground', 'RandomCrop', 'RandomFlip',
    'RandomHalfBody', 'RandomResize', 'RandomRotate', 'RandomScale', 'Resize', 'Solarize', 'TopdownAffine']
