"""Networks: backbones, heads, losses, estimators, pretrainers, data preprocessors, and how their weights are read."""

from sapiens2.models import backbones, data_preprocessors, estimators, heads, losses, pretrainers

__all__ = ['backbones', 'data_preprocessors', 'estimators', 'heads', 'losses', 'pretrainers']
