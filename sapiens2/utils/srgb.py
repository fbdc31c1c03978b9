"""The curve of sRGB (IEC 61966-2-1), both ways."""

from __future__ import annotations

import numpy as np


def linear(value: np.ndarray) -> np.ndarray:
    """Light, in [0, 1], of values of sRGB in [0, 1]."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055)**2.4)


def encoded(light: np.ndarray) -> np.ndarray:
    """The inverse of ``linear``."""
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light**(1 / 2.4) - 0.055)


def to_linear(picture: np.ndarray) -> np.ndarray:
    """Linear float32 radiance of an sRGB picture, uint8."""
    return linear(np.arange(256) / 255).astype(np.float32)[picture]
