"""Weights: reading every format, checking them against a model, converting, and the index of what was released."""

from sapiens2.models.checkpoints.build import build_model, parameters_on_meta
from sapiens2.models.checkpoints.errors import BadCheckpointFile, CheckpointError, CheckpointMismatch
from sapiens2.models.checkpoints.initializer import Pretrained
from sapiens2.models.checkpoints.load import load_checkpoint
from sapiens2.models.checkpoints.pickles import load_pickle
from sapiens2.models.checkpoints.report import LoadReport
from sapiens2.models.checkpoints.source import Origin, load_state, open_checkpoint

__all__ = ['BadCheckpointFile', 'CheckpointError', 'CheckpointMismatch', 'LoadReport', 'Origin', 'Pretrained',
           'build_model', 'load_checkpoint', 'load_pickle', 'load_state', 'open_checkpoint', 'parameters_on_meta']
