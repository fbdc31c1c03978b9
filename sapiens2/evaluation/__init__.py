"""Metrics of the five tasks: pure maths in ``functional``, wrappers for MMEngine's evaluator in ``metrics``."""

from sapiens2.evaluation import functional, metrics

__all__ = ['functional', 'metrics']
