"""The colours of a person without the background that shines through its soft edges."""

from __future__ import annotations

import cv2
import numpy as np

# Pixels; sides of the windows of the two rounds, as published.
_WIDE, _NARROW = 90, 6
_TINY = 1e-5


def estimate_foreground(image: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """The person's colours F, where ``image`` is ``alpha * F + (1 - alpha) * background``.

    Blur-Fusion, twice, after Forte, Approximate Fast Foreground Colour Estimation (ICIP 2021): both layers are taken
    for their means around each pixel, and the foreground is mended by what their composition then lacks.

    Args:
        image: (H, W, 3) uint8, or float32 from 0 to 255.
        alpha: (H, W) float32 in [0, 1].

    Returns:
        (H, W, 3) float32, 0 to 255; without meaning where ``alpha`` is 0.
    """
    image, alpha = image.astype(np.float32), alpha[..., None]
    foreground, background = _blur_fusion(image, image, image, alpha, _WIDE)
    foreground, _ = _blur_fusion(image, foreground, background, alpha, _NARROW)
    return foreground


def _blur_fusion(image: np.ndarray, foreground: np.ndarray, background: np.ndarray, alpha: np.ndarray,
                 width: int) -> tuple[np.ndarray, np.ndarray]:
    """One round: a better foreground, and the mean background around each pixel."""
    weight = _blur(alpha, width)
    foreground = _blur(foreground * alpha, width) / (weight + _TINY)
    background = _blur(background * (1 - alpha), width) / (1 - weight + _TINY)
    lack = image - alpha * foreground - (1 - alpha) * background
    return np.clip(foreground + alpha * lack, 0, 255), background


def _blur(maps: np.ndarray, width: int) -> np.ndarray:
    """Means of (H, W, C) over windows of ``width`` pixels."""
    return cv2.blur(maps, (width, width)).reshape(maps.shape)
