"""Smoothing of points over time.

The One Euro filter of Casiez, Roussel and Vogel, "1 Euro Filter: A Simple Speed-based Low-pass Filter for Noisy Input
in Interactive Systems" (CHI 2012): a low-pass of the first order whose cutoff rises with speed, calm for what stands
still, quick for what moves. What differs: the coordinates of a point share the cutoff of its speed, so that the filter
does not depend on how the axes lie; speeds are in sizes of the object a second, so that near and far people are
smoothed alike; and steps of time may vary.
"""

from __future__ import annotations

import math
from typing import Any, Optional

import numpy as np

# Hz, of the speed itself; as in the paper.
_SPEED_CUTOFF = 1.0


class OneEuro:
    """Filters points of D coordinates, all of one object.

    Args:
        cutoff: Hz, for points that stand still.
        speed_cutoff: Hz more for a speed of one size of the object a second.
    """

    def __init__(self, cutoff: float, speed_cutoff: float) -> None:
        self.cutoff, self.speed_cutoff = cutoff, speed_cutoff
        self._time = 0.0
        self._value: Optional[np.ndarray] = None
        self._speed: Optional[np.ndarray] = None

    def __call__(self, value: np.ndarray, time: float, size: float = 1.0) -> np.ndarray:
        """``value`` (points, D), smoothed, float64.

        Args:
            time: seconds; later than that of the call before.
            size: of the object, in the unit of ``value``.
        """
        value = np.asarray(value, dtype=np.float64)
        step = time - self._time
        if self._value is None or step <= 0:
            self._value, self._speed = value, np.zeros_like(value)
        else:
            speed = (value - self._value) / (step * max(size, 1e-9))
            self._speed = self._speed + _share(step, _SPEED_CUTOFF) * (speed - self._speed)
            cutoff = self.cutoff + self.speed_cutoff * np.linalg.norm(self._speed, axis=-1, keepdims=True)
            self._value = self._value + _share(step, cutoff) * (value - self._value)
        self._time = time
        return self._value.copy()

    def state(self) -> dict[str, Any]:
        """What it remembers, in JSON's types."""
        return {'time': self._time, 'value': None if self._value is None else self._value.tolist(),
                'speed': None if self._speed is None else self._speed.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self._time = state['time']
        self._value, self._speed = (None if state[name] is None else np.array(state[name], dtype=np.float64)
                                    for name in ('value', 'speed'))


def _share(step: float, cutoff: Any) -> Any:
    """Weight of the new value: 1 / (1 + tau / step), tau = 1 / (2 pi cutoff)."""
    return 1 / (1 + 1 / (2 * math.pi * cutoff * step))


class TrackSmoother:
    """One filter for each track; those of tracks that were not seen for a while begin anew.

    Args:
        max_gap: seconds.
    """

    def __init__(self, cutoff: float, speed_cutoff: float, max_gap: float) -> None:
        self._settings, self._max_gap = (cutoff, speed_cutoff), max_gap
        self._filters: dict[int, tuple[OneEuro, float]] = {}

    def __call__(self, track: int, points: np.ndarray, time: float, size: float) -> np.ndarray:
        """The (points, D) points of one track at one time, smoothed; see ``OneEuro``."""
        found, _ = self._filters.get(track, (None, time))
        found = found or OneEuro(*self._settings)
        self._filters[track] = found, time
        return found(points, time, size)

    def forget(self, time: float) -> None:
        """Let go of tracks that have not been seen at ``time`` for too long."""
        self._filters = {track: entry for track, entry in self._filters.items() if time - entry[1] <= self._max_gap}

    def state(self) -> dict[str, Any]:
        """What it remembers, in JSON's types."""
        return {str(track): {'seen': seen, 'filter': one.state()} for track, (one, seen) in self._filters.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        for track, entry in state.items():
            one = OneEuro(*self._settings)
            one.restore(entry['filter'])
            self._filters[int(track)] = one, entry['seen']
