"""Measures predictions that lie as files, made by any program, with the data and metrics of a config."""

from sapiens2.evaluation.predictions.conventions import CONVENTIONS, Convention
from sapiens2.evaluation.predictions.run import PredictionOptions, measure_predictions

__all__ = ['CONVENTIONS', 'Convention', 'PredictionOptions', 'measure_predictions']
