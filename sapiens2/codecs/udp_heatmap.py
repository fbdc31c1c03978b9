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
        heatmaps = heatmaps.float()
        scores, index = heatmaps.flatten(2).max(dim=-1)
        x, y = index % width, index // width

        smooth = gaussian_blur(heatmaps, self.blur_kernel_size).flatten(2)
        gain = scores / (smooth.amax(dim=-1) + 1e-12)
        offsets = torch.arange(-1, 2, device=index.device)
        columns = (x[..., None] + offsets).clamp(0, width - 1)
        rows = (y[..., None] + offsets).clamp(0, height - 1)
        around = smooth.gather(2, (rows[..., :, None] * width + columns[..., None, :]).flatten(2))
        step = newton_step((around * gain[..., None]).clamp(*LOG_RANGE).log().unflatten(2, (3, 3)))
        # Where the quadratic is nearly flat, as on a map without a peak, it would lead out of the picture.
        reach = self.blur_kernel_size // 2
        return torch.stack((x, y), dim=-1) - step.clamp(-reach, reach), scores


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
