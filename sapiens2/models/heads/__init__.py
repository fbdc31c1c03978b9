"""Decoders of the five tasks."""

from sapiens2.models.heads.albedo_head import AlbedoHead
from sapiens2.models.heads.normal_head import NormalHead
from sapiens2.models.heads.pointmap_head import PointmapHead
from sapiens2.models.heads.pose_heatmap_head import PoseHeatmapHead
from sapiens2.models.heads.seg_head import SegHead

__all__ = ['AlbedoHead', 'NormalHead', 'PointmapHead', 'PoseHeatmapHead', 'SegHead']
