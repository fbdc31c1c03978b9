"""The metrics that configs name."""

from sapiens2.evaluation.metrics.albedo_metric import AlbedoMetric
from sapiens2.evaluation.metrics.coco_pose_metric import CocoPoseMetric
from sapiens2.evaluation.metrics.depth_metric import DepthMetric
from sapiens2.evaluation.metrics.normal_metric import NormalMetric
from sapiens2.evaluation.metrics.pointmap_metric import PointmapMetric
from sapiens2.evaluation.metrics.seg_metric import SegMetric

__all__ = ['AlbedoMetric', 'CocoPoseMetric', 'DepthMetric', 'NormalMetric', 'PointmapMetric', 'SegMetric']
