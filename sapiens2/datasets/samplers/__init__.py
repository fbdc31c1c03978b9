"""Orders in which samples are drawn."""

from sapiens2.datasets.samplers.draw import Draw, random_state
from sapiens2.datasets.samplers.infinite import ResumableInfiniteSampler
from sapiens2.datasets.samplers.mixture import Mixture
from sapiens2.datasets.samplers.order import Locality, WindowedOrder

__all__ = ['Draw', 'Locality', 'Mixture', 'ResumableInfiniteSampler', 'WindowedOrder', 'random_state']
