"""Backbones: images to feature maps."""

from sapiens2.models.backbones.sapiens import Sapiens
from sapiens2.models.backbones.sapiens2 import Sapiens2
from sapiens2.models.backbones.timm_backbone import TimmBackbone

__all__ = ['Sapiens', 'Sapiens2', 'TimmBackbone']
