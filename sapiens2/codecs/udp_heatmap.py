"""Key points to heat maps and back, unbiased in both directions.

Sizes are measured between pixel centres: Huang et al., "The Devil is in the Details: Delving into Unbiased Data
Processing for Human Pose Estimation", CVPR 2020 (UDP). The peak is refined by a Newton step on the logarithm of the
smoothed heat map: Zhang et al., "Distribution-Aware Coordinate Representation for Human Pose Estimation", CVPR 2020
(DARK). What differs from the papers: all heat maps of a batch are decoded at once on their device, and smoothed values
outside a map repeat its edge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from sapiens2.registry import CODECS
from sapiens2.utils.topdown import points_to_image

# A point is drawn up to so many sigmas from it, along each axis.
WINDOW_SIGMAS = 3
# Smoothed heat maps are clipped to this range before their logarithm.
LOG_RANGE = (1e-3, 50.0)
# Cells from the peak within which the high cells of most maps lie.
NEAR = 8


@CODECS.register_module()
class UDPHeatmap:
    """One Gaussian per key point.

    Args:
        input_size: (W, H) of the network input, pixels.
        heatmap_size: (w, h) of the heat maps, cells. The centres of the corner cells lie on the centres of the
            corner pixels of the network input.
        sigma: standard deviation of the Gaussian, cells.
        blur_kernel_size: cells along a side of the kernel that smooths a heat map before its peak is refined; odd.

    Raises:
        ValueError: for a size below 2, a sigma that is not positive, or an even kernel.
    """

    def __init__(self,
                 input_size: Sequence[int],
                 heatmap_size: Sequence[int],
                 sigma: float = 6.0,
                 blur_kernel_size: int = 11) -> None:
        for name, size in (('input_size', input_size), ('heatmap_size', heatmap_size)):
            if len(size) != 2 or min(size) < 2:
                raise ValueError(f'{name} must be (width, height), both at least 2, got {tuple(size)}')
        if sigma <= 0:
            raise ValueError(f'sigma must be positive, got {sigma}')
        if blur_kernel_size < 1 or blur_kernel_size % 2 == 0:
            raise ValueError(f'blur_kernel_size must be odd and positive, got {blur_kernel_size}')
        self.input_size: tuple[int, int] = (int(input_size[0]), int(input_size[1]))
        self.heatmap_size: tuple[int, int] = (int(heatmap_size[0]), int(heatmap_size[1]))
        self.sigma = sigma
        self.blur_kernel_size = blur_kernel_size

    def encode(self, keypoints: np.ndarray, visible: np.ndarray) -> dict[str, np.ndarray]:
        """Draw the key points of one person.

        Args:
            keypoints: (1, K, 2) x, y, pixels of the network input; those outside it are drawn as far as their
                Gaussian reaches in.
            visible: (1, K) above 0.5 where labelled.

        Returns:
            heatmaps: (K, h, w), float32, in [0, 1]; zero where not labelled or out of reach.
            keypoint_weights: (K,), float32: ``visible``, but 0 where nothing is drawn.

        Raises:
            ValueError: if a labelled key point is not finite.
        """
        width, height = self.heatmap_size
        last = np.array([width - 1, height - 1], dtype=np.float32)
        points = np.asarray(keypoints, dtype=np.float32)[0] / (np.array(self.input_size, dtype=np.float32) - 1) * last
        weights = np.asarray(visible, dtype=np.float32)[0].copy()
        drawn = weights >= 0.5
        broken = np.flatnonzero(drawn & ~np.isfinite(points).all(axis=1))
        if len(broken):
            raise ValueError(f'labelled key points {broken.tolist()} have coordinates that are not finite: mark them '
                             f'as not labelled in the annotation')
        points[~drawn] = 0

        # The cell about which a Gaussian is cut off; rounding is towards zero, as in the released program.
        centers = np.trunc(points + 0.5)
        reach = WINDOW_SIGMAS * self.sigma
        drawn &= ((centers + reach >= 0) & (centers - reach <= last)).all(axis=1)
        weights[~drawn] = 0
        columns, rows = (self._profile(points[:, axis], centers[:, axis], reach, size)
                         for axis, size in enumerate(self.heatmap_size))
        columns[~drawn] = 0
        return dict(heatmaps=rows[:, :, None] * columns[:, None, :], keypoint_weights=weights)

    def _profile(self, points: np.ndarray, centers: np.ndarray, reach: float, size: int) -> np.ndarray:
        """Gaussians along one axis, (K, size): a Gaussian in two dimensions is the product of two of them."""
        cells = np.arange(size, dtype=np.float32)
        profile = np.exp(-np.square(cells - points[:, None]) / np.float32(2 * self.sigma**2))
        profile[np.abs(cells - centers[:, None]) > reach] = 0
        return profile

    def decode(self, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        """Key points in the released program's scale of the network input.

        The first cell's centre stands at 0 and the last one's at W or H, not at W - 1 or H - 1 as in ``encode``: to
        reach the source image, use ``decode_to_image``, which is exact.

        Args:
            heatmaps: (B, K, h, w).

        Returns:
            keypoints (B, K, 2) x, y, pixels of the network input in that scale, and scores (B, K), float32.
        """
        cells, scores = self.locate(heatmaps)
        width, height = self.heatmap_size
        steps = cells.new_tensor([self.input_size[0] / (width - 1), self.input_size[1] / (height - 1)])
        return cells * steps, scores

    def decode_to_image(self, heatmaps: Tensor, center: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Key points in the source image.

        Args:
            heatmaps: (B, K, h, w).
            center: (B, 2) x, y of the crop's centre, pixels of the source image.
            scale: (B, 2) w, h of the crop, pixels of the source image.

        Returns:
            keypoints (B, K, 2) x, y, pixels of the source image, and scores (B, K), float32.
        """
        cells, scores = self.locate(heatmaps)
        return points_to_image(cells, center, scale, self.heatmap_size), scores

    def locate(self, heatmaps: Tensor) -> tuple[Tensor, Tensor]:
        """Refined peaks, at most half the smoothing kernel from the highest cell.

        Args:
            heatmaps: (B, K, h, w).

        Returns:
            x, y in cells of the heat map, (B, K, 2), and the value of the highest cell, (B, K), float32.

        Raises:
            ValueError: if the heat maps are not of ``heatmap_size``.
        """
        width, height = self.heatmap_size
        if heatmaps.ndim != 4 or heatmaps.shape[2:] != (height, width):
            raise ValueError(f'heat maps must be (B, K, {height}, {width}), got {tuple(heatmaps.shape)}: set '
                             f'heatmap_size=(w, h) of the codec to the size of the head\'s output')
        maps = heatmaps.float().flatten(0, 1)
        scores, y, x, around, highest = smooth_around_peaks(maps, self.blur_kernel_size)
        gain = scores / (highest + 1e-12)
        step = newton_step((around * gain[:, None, None]).clamp(*LOG_RANGE).log())
        # Where the quadratic is nearly flat, as on a map without a peak, it would lead out of the picture.
        reach = self.blur_kernel_size // 2
        cells = torch.stack((x, y), dim=-1) - step.clamp(-reach, reach)
        return cells.unflatten(0, heatmaps.shape[:2]), scores.unflatten(0, heatmaps.shape[:2])


def smooth_around_peaks(maps: Tensor, kernel_size: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """What is needed of smoothed maps, without smoothing them whole, which would take thirty times as long.

    A smoothed map is highest near cells that are higher than the smoothed peak, since an average exceeds none of what
    it is made of. Where all those cells lie near the peak, smoothing the surroundings of the peak is enough; a map
    with other high cells is smoothed whole. The results are the same numbers.

    Args:
        maps: (M, h, w) float32.
        kernel_size: see ``gaussian_blur``.

    Returns:
        The highest value (M,); its row and its column (M,), int64; the smoothed map in the 3 x 3 cells about it
        (M, 3, 3), cells at the edge repeated; and the highest value of the smoothed map (M,).
    """
    height, width = maps.shape[1:]
    high_rows, high_columns = maps.amax(dim=2), maps.amax(dim=1)
    scores, y = high_rows.max(dim=1)
    number = torch.arange(len(maps), device=maps.device)
    x = maps[number, y].argmax(dim=1)

    reach = kernel_size // 2
    smooth, inside = _smooth_windows(maps, y, x, kernel_size)
    middle = NEAR + reach
    # A little less, for the rounding of an average of equal values.
    higher = smooth[:, middle, middle][:, None] * (1 - 1e-6)
    # Zeros about the map may raise an average of negative values.
    far = _far(high_rows > higher, y) | _far(high_columns > higher, x) | (higher[:, 0] <= 0)
    highest = smooth.masked_fill(~inside, -torch.inf).amax(dim=(1, 2))
    offsets = torch.arange(-1, 2, device=maps.device)
    rows = (y[:, None] + offsets).clamp(0, height - 1)
    columns = (x[:, None] + offsets).clamp(0, width - 1)
    around = smooth[number[:, None, None], (rows - y[:, None] + middle)[:, :, None],
                    (columns - x[:, None] + middle)[:, None]]
    which = far.nonzero()[:, 0]
    if len(which):
        whole = gaussian_blur(maps[which], kernel_size)
        highest[which] = whole.amax(dim=(1, 2))
        around[which] = whole[torch.arange(len(which), device=maps.device)[:, None, None], rows[which][:, :, None],
                              columns[which][:, None]]
    return scores, y, x, around, highest


def _far(is_high: Tensor, middle: Tensor) -> Tensor:
    """Whether a row (M, n) has a high cell farther than ``NEAR`` from its ``middle`` (M,)."""
    places = torch.arange(is_high.shape[1], device=is_high.device)
    return (is_high & ((places - middle[:, None]).abs() > NEAR)).any(dim=1)


def _smooth_windows(maps: Tensor, y: Tensor, x: Tensor, kernel_size: int) -> tuple[Tensor, Tensor]:
    """Smoothed maps in a window about (y, x), and which of its cells lie in the map, both (M, n, n)."""
    height, width = maps.shape[1:]
    reach = kernel_size // 2
    offsets = torch.arange(-NEAR - 2 * reach, NEAR + 2 * reach + 1, device=maps.device)
    rows, columns = y[:, None] + offsets, x[:, None] + offsets
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None]
    number = torch.arange(len(maps), device=maps.device)[:, None, None]
    window = maps[number, rows.clamp(0, height - 1)[:, :, None], columns.clamp(0, width - 1)[:, None]]
    smooth = gaussian_blur(window.masked_fill(~inside, 0), kernel_size)
    # Farther out, the window lacks what would have to be averaged.
    known = slice(reach, len(offsets) - reach)
    return smooth[:, known, known], inside[:, known, known]


def gaussian_blur(maps: Tensor, kernel_size: int) -> Tensor:
    """Smooth (..., h, w) with a Gaussian of ``kernel_size`` cells; zeros lie outside.

    The standard deviation follows from the kernel's size as in OpenCV. Shifted sums take a fraction of the time of a
    convolution of one channel on a CPU, and keep float32 on GPUs whose convolutions round to TF32.
    """
    sigma = 0.3 * ((kernel_size - 1) * 0.5 - 1) + 0.8
    reach = kernel_size // 2
    weights = np.exp(-np.square(np.arange(reach + 1)) / (2 * sigma**2))
    weights /= 2 * weights.sum() - weights[0]
    for dim in (-2, -1):
        size = maps.shape[dim]
        total = maps * float(weights[0])
        for shift in range(1, min(reach, size - 1) + 1):
            weight = float(weights[shift])
            total.narrow(dim, shift, size - shift).add_(maps.narrow(dim, 0, size - shift), alpha=weight)
            total.narrow(dim, 0, size - shift).add_(maps.narrow(dim, shift, size - shift), alpha=weight)
        maps = total
    return maps


def newton_step(around: Tensor) -> Tensor:
    """What to subtract from the middle cell to reach the extremum of a quadratic through 3 x 3 values.

    Args:
        around: (..., 3, 3) values, rows first.

    Returns:
        (..., 2) x, y in cells, the inverse Hessian times the gradient, with the dtype of ``around``.
    """
    values = around if around.device.type == 'mps' else around.double()  # MPS has no float64
    (top_left, top, _), (left, middle, right), (_, bottom, bottom_right) = (
        row.unbind(-1) for row in values.unbind(-2))
    gradient_x, gradient_y = (right - left) / 2, (bottom - top) / 2
    # On a flat map the tiny diagonal makes the step zero.
    tiny = torch.finfo(torch.float32).eps
    xx, yy = right - 2 * middle + left + tiny, bottom - 2 * middle + top + tiny
    xy = (bottom_right - right - bottom + 2 * middle - left - top + top_left) / 2
    determinant = xx * yy - xy * xy
    step = torch.stack((yy * gradient_x - xy * gradient_y, xx * gradient_y - xy * gradient_x), dim=-1)
    return (step / determinant[..., None]).to(around.dtype)
