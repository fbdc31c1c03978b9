"""Bilinear resizing of predictions to the source image, whole or in bands of rows."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

# Largest number of values of one band: 8 MiB of float32, small enough for a processor's cache.
BAND_VALUES = 2**21


def resize(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """(C, h, w) to (C, H, W), bilinear, pixel areas aligned, no smoothing when shrinking.

    Args:
        maps: values.
        size: (H, W).
    """
    if maps.shape[1:] == size:
        return maps
    return F.interpolate(maps[None], size=size, mode='bilinear', align_corners=False)[0]


def resize_bands(maps: Tensor, size: tuple[int, int], band_values: int = BAND_VALUES) -> Iterator[tuple[slice, Tensor]]:
    """The rows of ``resize(maps, size)`` in bands, so that the whole is never in memory.

    Columns are interpolated before rows, as ``F.interpolate`` does, and every row alike whatever band it is in.

    Args:
        maps: (C, h, w) values.
        size: (H, W).
        band_values: most values of one band.

    Yields:
        The rows of a band and their values, (C, rows, W).
    """
    height, width = size
    channels, source_height, _ = maps.shape
    rows_per_band = max(1, band_values // (channels * width))
    # Rounded once, like the fused multiply-add by which F.interpolate finds the source of a row.
    step = torch.tensor(source_height / height, dtype=maps.dtype).double()
    position = (torch.arange(height).double() + 0.5) * step - 0.5
    position = position.to(maps.dtype).clamp(min=0)
    above = position.long().clamp(max=source_height - 1)
    below = (above + 1).clamp(max=source_height - 1)
    weight = (position - above)[:, None].to(maps.device)
    for start in range(0, height, rows_per_band):
        rows = slice(start, min(start + rows_per_band, height))
        first, last = int(above[rows.start]), int(below[rows.stop - 1])
        source = resize(maps[:, first:last + 1], (last + 1 - first, width))
        upper, lower = (source.index_select(1, (index[rows] - first).to(maps.device)) for index in (above, below))
        yield rows, upper.mul_(1 - weight[rows]).add_(lower.mul_(weight[rows]))
