"""Networks: backbones, heads, losses, estimators, data preprocessors, and how their weights are read."""

from sapiens2.models import backbones, data_preprocessors, estimators, heads, losses

__all__ = ['backbones', 'data_preprocessors', 'estimators', 'heads', 'losses']
