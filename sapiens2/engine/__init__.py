"""Training and testing on MMEngine's runner."""

from sapiens2.engine import hooks, optimizers
from sapiens2.engine.checkpoints import latest_checkpoint
from sapiens2.engine.loops import UpdateTrainLoop
from sapiens2.engine.runner import Sapiens2Runner

__all__ = ['Sapiens2Runner', 'UpdateTrainLoop', 'hooks', 'latest_checkpoint', 'optimizers']
