"""How a model is spread over processes: ``strategy`` of a config."""

from sapiens2.engine.strategies.base import Strategy
from sapiens2.engine.strategies.data_parallel import DataParallel
from sapiens2.engine.strategies.fsdp2 import FSDP2

__all__ = ['DataParallel', 'FSDP2', 'Strategy']
