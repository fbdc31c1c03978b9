"""Parts of MMPose, MMSegmentation and MMPretrain inside sapiens2; the other way: ``in_mmpose``, ``in_mmseg``."""

from projects.openmmlab.backbone import OpenMMLabBackbone
from projects.openmmlab.seg_head import OpenMMLabSegHead

__all__ = ['OpenMMLabBackbone', 'OpenMMLabSegHead']
