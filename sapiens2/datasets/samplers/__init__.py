"""Orders in which samples are drawn."""

from sapiens2.datasets.samplers.draw import Draw, random_state
from sapiens2.datasets.samplers.infinite import ResumableInfiniteSampler
from sapiens2.datasets.samplers.mixture import Mixture

__all__ = ['Draw', 'Mixture', 'ResumableInfiniteSampler', 'random_state']
