"""From a batch of images as read to the network's input."""

from sapiens2.models.data_preprocessors.pretrain_data_preprocessor import PretrainDataPreprocessor
from sapiens2.models.data_preprocessors.sapiens_data_preprocessor import SapiensDataPreprocessor

__all__ = ['PretrainDataPreprocessor', 'SapiensDataPreprocessor']
