"""Smooth random fields on a body: sums of warped waves, for wrinkles of cloth and tufts of hair."""

from __future__ import annotations

import numpy as np

from sapiens2.synth.people.rotations import unit


def waves(points: np.ndarray,
          wavelength: float,
          rng: np.random.Generator,
          count: int = 6,
          stretch: tuple[float, float, float] = (1, 1, 1),
          ridged: bool = False) -> np.ndarray:
    """(N,) values of about unit spread at ``points`` (N, 3), metres.

    ``stretch`` scales the axes first (a small one makes folds long in that direction); ``ridged``: sharp folds.
    """
    points = points.astype(np.float32) * np.asarray(stretch, np.float32)
    direction = unit(rng.normal(size=(count, 3))).astype(np.float32)
    frequency = (2 * np.pi / (wavelength * rng.uniform(0.6, 1.6, count))).astype(np.float32)
    phase = rng.uniform(0, 2 * np.pi, (2, count)).astype(np.float32)
    along = points @ (direction * frequency[:, None]).T
    warp = np.sin(0.5 * np.roll(along, 1, axis=1) + phase[1])
    value = np.sin(along + 1.6 * warp + phase[0])
    if ridged:
        value = 1.3 - 2 * np.abs(value)
    return value.sum(1) / np.float32(np.sqrt(count / 2))
