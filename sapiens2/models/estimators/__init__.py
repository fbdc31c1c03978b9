"""Backbone and head put together: one estimator for the dense tasks, one for top-down pose."""

from sapiens2.models.estimators.dense_estimator import DenseEstimator
from sapiens2.models.estimators.topdown_pose_estimator import TopdownPoseEstimator

__all__ = ['DenseEstimator', 'TopdownPoseEstimator']
