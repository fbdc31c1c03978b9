"""Whether weights fit into memory. Without torch, so that the command can name the choices at once."""

from __future__ import annotations

from sapiens2.utils.environment import memory_gib

# When blocks of a network are read from the file anew for each batch.
STREAMING = ('auto', 'always', 'never')
# Of the free memory; the rest is for images, values between layers, and other programs.
SHARE_FOR_WEIGHTS = 0.8


class NotEnoughMemory(RuntimeError):
    """The weights do not fit into the free memory in any way that was allowed."""


def available_gib() -> float:
    """Free memory of the machine or its container, with what its file cache could give back; infinite where unknown."""
    available = memory_gib()[1]
    return float('inf') if available is None else available


def fits(size: int, available: float) -> bool:
    """Whether weights of ``size`` bytes leave room for the rest in ``available`` GiB."""
    return size <= SHARE_FOR_WEIGHTS * available * 2**30
