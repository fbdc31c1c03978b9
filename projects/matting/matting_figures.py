"""The four usual errors of alpha mattes (Rhemann et al., A Perceptually Motivated Online Benchmark, CVPR 2009).

They are taken over the whole picture: there is no trimap that would say where the matte is known. Nothing is stretched
to [0, 1] before.
"""

from __future__ import annotations

import math

import cv2
import numpy as np

# Thousands, as papers give the sums.
_UNIT = 1000.0
# Pixels: of the Gaussian whose derivatives measure slopes, cut off where it falls below a hundredth.
_SIGMA, _CUT = 1.4, 0.01
_LEVELS, _TOLERANCE = np.linspace(0, 1, 11), 0.15


def sad(pred: np.ndarray, target: np.ndarray) -> float:
    """Sum of absolute differences of two (H, W) opacities in [0, 1], in thousands."""
    return float(np.abs(pred - target).sum(dtype=np.float64)) / _UNIT


def mse(pred: np.ndarray, target: np.ndarray) -> float:
    """Mean squared difference of two (H, W) opacities in [0, 1]."""
    return float(np.square(pred - target).mean(dtype=np.float64))


def gradient_error(pred: np.ndarray, target: np.ndarray) -> float:
    """Sum of squared differences of the lengths of the gradients, in thousands; Gaussian derivatives of 1.4 pixels."""
    return float(np.square(_gradient_length(pred) - _gradient_length(target)).sum()) / _UNIT


def connectivity_error(pred: np.ndarray, target: np.ndarray) -> float:
    """Sum of differences of how far pixels are connected with the largest region that both call person, in thousands.

    A pixel is connected up to the highest of the levels 0, 0.1 ... 1 up to which it lies in that region (4 neighbours).
    What it is more opaque than that counts as lost if it is 0.15 or more.
    """
    level = np.ones(pred.shape)
    in_all = np.ones(pred.shape, bool)
    for below, threshold in zip(_LEVELS, _LEVELS[1:]):
        both = (pred >= threshold) & (target >= threshold)
        inside = in_all & _largest_region(both.astype(np.uint8))
        level[in_all & ~inside] = below
        in_all = inside
    return float(np.abs(_connection(pred, level) - _connection(target, level)).sum()) / _UNIT


def _gradient_length(alpha: np.ndarray) -> np.ndarray:
    radius = math.ceil(_SIGMA * math.sqrt(-2 * math.log(math.sqrt(2 * math.pi) * _SIGMA * _CUT)))
    x = np.arange(-radius, radius + 1, dtype=np.float64)
    gauss = np.exp(-x**2 / (2 * _SIGMA**2)) / (_SIGMA * math.sqrt(2 * math.pi))
    slope = -x * gauss / _SIGMA**2
    slope /= np.linalg.norm(np.outer(gauss, slope))  # the filter in two dimensions has length 1
    alpha = alpha.astype(np.float64)
    across = cv2.sepFilter2D(alpha, -1, slope, gauss, borderType=cv2.BORDER_REPLICATE)
    down = cv2.sepFilter2D(alpha, -1, gauss, slope, borderType=cv2.BORDER_REPLICATE)
    return np.hypot(across, down)


def _largest_region(mask: np.ndarray) -> np.ndarray:
    _, labels, figures, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    areas = figures[1:, cv2.CC_STAT_AREA]
    return labels == 1 + areas.argmax() if len(areas) else np.zeros(mask.shape, bool)


def _connection(alpha: np.ndarray, level: np.ndarray) -> np.ndarray:
    excess = alpha - level
    return 1 - excess * (excess >= _TOLERANCE)
