"""Steps of a data pipeline. They change one dictionary, whose keys are the fields of ``DataSample`` as NumPy arrays."""

from sapiens2.datasets.transforms.augment_crops import AugmentCrops
from sapiens2.datasets.transforms.background import RandomBackground
from sapiens2.datasets.transforms.colour import ColourJitter, RandomExposure, RandomGrey
from sapiens2.datasets.transforms.crop import RandomAreaCrop, RandomCrop
from sapiens2.datasets.transforms.formatting import PackInputs
from sapiens2.datasets.transforms.loading import LoadFields, LoadImage
from sapiens2.datasets.transforms.multi_crop import MultiCrop
from sapiens2.datasets.transforms.pack_crops import PackCrops
from sapiens2.datasets.transforms.photometric import (
    BoxBlur, CoarseDropout, GaussianBlur, GaussianNoise, MedianBlur, PhotometricDistortion, Solarize)
from sapiens2.datasets.transforms.resize import DownUpSample, RandomResize, RandomScale, Resize
from sapiens2.datasets.transforms.targets import GenerateHeatmaps, GeneratePointmap
from sapiens2.datasets.transforms.token_mask import RandomTokenMask
from sapiens2.datasets.transforms.topdown import (
    GetBBoxCenterScale, RandomBBoxTransform, RandomHalfBody, TopdownAffine)
from sapiens2.datasets.transforms.turn import RandomFlip, RandomRotate

__all__ = [
    'AugmentCrops', 'BoxBlur', 'CoarseDropout', 'ColourJitter', 'DownUpSample', 'GaussianBlur', 'GaussianNoise',
    'GenerateHeatmaps', 'GeneratePointmap', 'GetBBoxCenterScale', 'LoadFields', 'LoadImage', 'MedianBlur',
    'MultiCrop', 'PackCrops', 'PackInputs', 'PhotometricDistortion', 'RandomAreaCrop', 'RandomBBoxTransform',
    'RandomBackground', 'RandomCrop', 'RandomExposure', 'RandomFlip', 'RandomGrey', 'RandomHalfBody', 'RandomResize',
    'RandomRotate', 'RandomScale', 'RandomTokenMask', 'Resize', 'Solarize', 'TopdownAffine']
