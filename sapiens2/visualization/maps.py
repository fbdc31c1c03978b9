"""Colour pictures of dense maps: classes, normals, depth, albedo. Plain numpy and OpenCV, BGR uint8 out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import cv2
import numpy as np

from sapiens2.visualization.text import INK, PAPER, put_text, text_size

# Of a legend: most rows, and the smallest share of a class that is named, percent.
LEGEND_ROWS = 14
LEAST_PERCENT = 0.05
# What black is in pictures of depth.
NO_DEPTH = 'no depth'
# Of one band of rows: 1 MiB of float32.
_BAND_VALUES = 2**18


def to_levels(values: np.ndarray, dtype: type = np.uint8, low: float = 0.0) -> np.ndarray:
    """Values of [``low``, 1] as all whole numbers of ``dtype``; others are clipped, and NaN is as ``low``.

    In bands of rows, whose intermediate results stay in the processor's cache.
    """
    most = np.iinfo(dtype).max
    result = np.empty(values.shape, dtype=dtype)
    rows = max(1, _BAND_VALUES * len(values) // max(1, values.size))
    for start in range(0, len(values), rows):
        band = values[start:start + rows].astype(np.float32)
        band -= low
        band *= most / (1 - low)
        np.nan_to_num(band, copy=False, nan=0, posinf=most, neginf=0)
        np.clip(band, 0, most, out=band)
        result[start:start + rows] = np.rint(band, out=band)
    return result


def unit_to_bgr(rgb: np.ndarray) -> np.ndarray:
    """(H, W, 3) RGB in [0, 1] to BGR uint8; values outside are clipped, values that are not finite become 0 or 255."""
    return cv2.cvtColor(to_levels(rgb), cv2.COLOR_RGB2BGR)


def normals_to_bgr(normal: np.ndarray) -> np.ndarray:
    """(H, W, 3) unit vectors, camera frame (x right, y down, z forward), to BGR; RGB = (n + 1) / 2."""
    return cv2.cvtColor(to_levels(normal, low=-1), cv2.COLOR_RGB2BGR)


def distinct_colors(count: int) -> list[list[int]]:
    """RGB of ``count`` classes: grey for the first, which is background, then hues a golden section apart."""
    hues = np.arange(max(count - 1, 0)) * 0.618034 % 1.0
    hsv = np.stack([hues * 180, np.full_like(hues, 200), np.full_like(hues, 255)], axis=-1).astype(np.uint8)
    rgb = cv2.cvtColor(hsv[None], cv2.COLOR_HSV2RGB)[0].tolist() if count > 1 else []
    return [[50, 50, 50], *rgb][:count]


def labels_to_bgr(labels: np.ndarray, palette: Sequence[Sequence[int]]) -> np.ndarray:
    """(H, W) labels to BGR; ``palette`` holds the RGB of each label, and 255 (ignored) is black."""
    table = np.zeros((256, 3), dtype=np.uint8)
    table[:len(palette)] = np.asarray(palette, dtype=np.uint8)[:, ::-1]
    return table[labels]


def overlay_labels(
        image: np.ndarray, labels: np.ndarray, palette: Sequence[Sequence[int]], alpha: float = 0.6,
        background: Optional[int] = 0) -> np.ndarray:
    """``image`` (H, W, 3) BGR under the colours of its (H, W) ``labels``, with a thin border between classes.

    Args:
        alpha: opacity of the colours.
        background: label whose pixels, and those of 255, show the image as it is; None colours every label.
    """
    colors = labels_to_bgr(labels, palette)
    mixed = cv2.addWeighted(colors, alpha, image, 1 - alpha, 0)
    border = np.zeros(labels.shape, dtype=bool)
    border[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    border[1:] |= labels[1:] != labels[:-1]
    mixed[border] = mixed[border] // 2 + 127
    plain = labels == 255
    if background is not None:
        plain |= labels == background
    mixed[plain & ~border] = image[plain & ~border]
    return mixed


def label_legend(
        labels: np.ndarray, classes: Sequence[str], palette: Sequence[Sequence[int]], height: int) -> np.ndarray:
    """A BGR panel at least ``height`` pixels high: colour, name and share of the classes in ``labels``.

    At most ``LEGEND_ROWS`` rows, so that they can be read, the largest classes first. Classes of which so little is
    there that their share would be 0.0 % are left out.
    """
    values, counts = np.unique(labels, return_counts=True)
    shares = sorted(((100 * int(count) / labels.size, int(label)) for label, count in zip(values, counts)
                     if label < len(classes)), key=lambda entry: (-entry[0], entry[1]))
    rows = [(classes[label].replace('_', ' '), share, palette[label]) for share, label in shares
            if share >= LEAST_PERCENT]
    if len(rows) > LEGEND_ROWS:
        rest = rows[LEGEND_ROWS - 1:]
        rows = [*rows[:LEGEND_ROWS - 1], (f'{len(rest)} more', sum(share for _, share, _ in rest), None)]
    size = int(np.clip(height / (1.5 * (LEGEND_ROWS + 1)), 11, 60))
    line, pad = round(1.5 * size), size
    name_width = max((text_size(name, size)[0] for name, *_ in rows), default=0)
    share_width = text_size('100.0 %', size)[0]
    panel = np.full((max(height, line * len(rows) + pad), 4 * pad + name_width + share_width, 3), PAPER, np.uint8)
    for row, (name, share, color) in enumerate(rows):
        top = pad // 2 + row * line
        if color is not None:
            red, green, blue = (int(value) for value in color)
            panel[top + size // 8:top + size // 8 + size, pad:2 * pad] = (blue, green, red)
        text = f'{share:.1f} %'
        put_text(panel, name, (2 * pad + pad // 2, top), size, INK)
        put_text(panel, text, (panel.shape[1] - pad // 2 - text_size(text, size)[0], top), size, INK)
    return panel


def outline_mask(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A copy of ``image`` (H, W, 3) BGR, darker outside the (H, W) ``mask``, with a white line round it."""
    inside = (mask > 0).astype(np.uint8)
    drawn = np.where(inside[..., None] > 0, image, image // 3)
    outlines, _ = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return cv2.drawContours(drawn, outlines, -1, (255, 255, 255), max(1, round(max(mask.shape) / 400)), cv2.LINE_AA)


def depth_range(depth: np.ndarray) -> tuple[float, float]:
    """Nearest and farthest depth to show: the 1st and 99th percentile of what is finite and in front of the camera."""
    seen = depth[np.isfinite(depth) & (depth > 0)]
    if not seen.size:
        return 0.0, 1.0
    # Every pixel of a large picture is not needed for two percentiles.
    near, far = np.percentile(seen[::max(1, seen.size // 200_000)], (1, 99))
    return float(near), float(max(far, near + 1e-3))


def depth_to_bgr(depth: np.ndarray, near: float, far: float) -> np.ndarray:
    """(H, W) metres to BGR: near is red, far is blue; black where depth is not finite or not positive."""
    valid = np.isfinite(depth) & (depth > 0)
    level = (far - np.where(valid, depth, far)) / (far - near)
    colors = cv2.applyColorMap(np.rint(np.clip(level, 0, 1) * 255).astype(np.uint8), cv2.COLORMAP_TURBO)
    colors[~valid] = 0
    return colors


def _round_steps(low: float, high: float, count: int) -> np.ndarray:
    """Multiples of 1, 2 or 5 times a power of ten between ``low`` and ``high``, about ``count`` of them."""
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return np.arange(np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6) + 1) * step


def depth_bar(near: float, far: float, height: int) -> np.ndarray:
    """A BGR panel ``height`` pixels high: the colours of ``depth_to_bgr`` from near to far, with metres beside, and
    where there is room what black means."""
    size = int(np.clip(height / 25, 11, 40))
    pad = size
    rest = 2 * size if height >= 8 * size else 0
    bar = max(height - rest - 2 * pad, 1)
    ticks = _round_steps(near, far, int(np.clip(bar // (3 * size), 1, 8)))
    decimals = 0 if len(ticks) < 2 else max(0, int(np.ceil(-np.log10(ticks[1] - ticks[0]) - 1e-6)))
    texts = [f'{tick:.{max(decimals, 1)}f} m' for tick in ticks]
    width = max(text_size(text, size)[0] for text in (*texts, NO_DEPTH))
    panel = np.full((height, 4 * pad + width, 3), PAPER, dtype=np.uint8)
    top = min(pad, (height - 1) // 2)
    ramp = np.linspace(near, far, bar, dtype=np.float64)[:, None].repeat(pad, axis=1)
    # Depth 0 has no colour, yet a bar may start there.
    panel[top:top + bar, pad:2 * pad] = depth_to_bgr(np.maximum(ramp, 1e-9), near, far)[:height - top]
    for tick, text in zip(ticks, texts):
        y = top + round((tick - near) / (far - near) * (bar - 1))
        cv2.line(panel, (2 * pad, y), (2 * pad + pad // 3, y), INK, 1)
        put_text(panel, text, (2 * pad + pad // 2, y - round(0.6 * size)), size, INK)
    if rest:
        bottom = height - pad // 2
        panel[bottom - size:bottom, pad:2 * pad] = 0
        put_text(panel, NO_DEPTH, (2 * pad + pad // 2, bottom - round(1.1 * size)), size, INK)
    return panel
