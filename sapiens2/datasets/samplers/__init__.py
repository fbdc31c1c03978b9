"""Orders in which samples are drawn."""

from sapiens2.datasets.samplers.draw import Draw, random_state
from sapiens2.datasets.samplers.infinite import ResumableInfiniteSampler

__all__ = ['Draw', 'ResumableInfiniteSampler', 'random_state']
