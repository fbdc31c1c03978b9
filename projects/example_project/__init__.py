"""Monocular depth of people, up to scale and shift: a task added to sapiens2 from outside."""

from projects.example_project.depth_head import DepthHead
from projects.example_project.depth_loss import AffineInvariantDepthLoss
from projects.example_project.depth_metric import AffineDepthMetric

__all__ = ['AffineDepthMetric', 'AffineInvariantDepthLoss', 'DepthHead']
