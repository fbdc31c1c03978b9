"""Predicts what a training run needs: memory of each GPU by part, and time. Nothing is computed for it."""

from sapiens2.planning.gpus import GIB, Gpu, find_gpu, load_gpus
from sapiens2.planning.memory import Memory, memory_of
from sapiens2.planning.plan import Plan, Planner
from sapiens2.planning.recording import Recording, record
from sapiens2.planning.remedies import Remedy
from sapiens2.planning.runs import STRATEGIES, Run, Spread
from sapiens2.planning.speed import Rates, Speed, speed_of
from sapiens2.planning.training import Settings, is_half

__all__ = ['GIB', 'STRATEGIES', 'Gpu', 'Memory', 'Plan', 'Planner', 'Rates', 'Recording', 'Remedy', 'Run', 'Settings',
           'Speed', 'Spread', 'find_gpu', 'is_half', 'load_gpus', 'memory_of', 'record', 'speed_of']
