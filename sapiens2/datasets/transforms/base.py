"""A transform that happens with some probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from mmcv.transforms import BaseTransform


class RandomTransform(BaseTransform):
    """Apply ``apply`` with probability ``prob``; randomness comes from ``numpy.random``, which a ``Draw`` seeds."""

    def __init__(self, prob: float = 1.0) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f'{type(self).__name__}.prob must lie in [0, 1], not {prob}')
        self.prob = prob

    def transform(self, results: dict[str, Any]) -> dict[str, Any]:
        """Change ``results`` in place and return it, or return it as it is."""
        return self.apply(results) if np.random.random() < self.prob else results

    def apply(self, results: dict[str, Any]) -> dict[str, Any]:
        """The change itself."""
        raise NotImplementedError
