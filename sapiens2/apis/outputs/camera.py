"""Intrinsics of the source image: given by the user, or estimated from a pointmap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.field_files import read_intrinsics
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.rules.fields import camera_faults
from sapiens2.datasets.transforms.view import resize_matrix

# Points that are looked at, and the fewest of which a camera is estimated.
_SAMPLES, _FEWEST = 20_000, 100
_ROUNDS = 10
_ENDINGS = ('.json', '.npy', '.npz')


@dataclass(frozen=True)
class Camera:
    """A pinhole camera of known intrinsics.

    Attributes:
        fx, fy, cx, cy: pixels of the upright picture, pixel centres at integers.
        size: (H, W) of the picture that they are for; other sizes of the same shape are scaled to. None: they are in
            pixels of whatever picture comes.
        source: where they come from, for errors.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    size: Optional[tuple[int, int]] = None
    source: str = 'camera'

    def matrix(self, size: tuple[int, int]) -> np.ndarray:
        """K, (3, 3) float64, for a picture of ``size`` (H, W).

        Raises:
            ValueError: if the camera cannot be of such a picture.
        """
        matrix = np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]], dtype=np.float64)
        if self.size is not None and self.size != size:
            # A rounded side may be off by one pixel.
            if abs(self.size[1] * size[0] / self.size[0] - size[1]) > 1 + size[1] / min(self.size):
                raise ValueError(f'{self.source}: is of pictures of {self.size[1]} x {self.size[0]} pixels, this one '
                                 f'has {size[1]} x {size[0]}, another shape')
            matrix = resize_matrix(self.size, size) @ matrix
        fault = next(camera_faults(matrix, size[::-1], self.source), None)
        if fault is not None:
            raise ValueError(str(fault))
        return matrix


def read_camera(text: str) -> Camera:
    """The camera of ``fx,fy,cx,cy``, or of a file as ``read_intrinsics`` takes it.

    A JSON file may also hold ``width`` and ``height`` of the pictures. Skew is not supported.

    Raises:
        ValueError: naming the text or the file, if it is neither.
    """
    try:
        numbers = [float(part) for part in text.split(',')]
    except ValueError:
        numbers = []
    if numbers:
        if len(numbers) != 4 or not np.isfinite(numbers).all() or min(numbers[:2]) <= 0:
            raise ValueError(f'camera {text!r}: give fx,fy,cx,cy in pixels, fx and fy positive, or a file')
        return Camera(*numbers, source=text)
    if not Path(text).is_file() or not text.lower().endswith(_ENDINGS):
        fault = 'is no file of a camera' if Path(text).exists() else 'there is no such file'
        raise ValueError(f'camera (--camera) {text}: {fault}. Give fx,fy,cx,cy in pixels, or a file with K '
                         f'({", ".join(_ENDINGS)})')
    matrix = read_intrinsics(text).astype(np.float64)
    if matrix[0, 1] != 0:
        raise ValueError(f'{text}: K has a skew of {matrix[0, 1]:g}; only cameras without can be used')
    content = read_json(text) if text.lower().endswith('.json') else None
    size = None
    if isinstance(content, dict) and {'width', 'height'} <= content.keys():
        size = (content['height'], content['width'])
        if not all(isinstance(side, int) and side > 0 for side in size):
            raise ValueError(f'{text}: width and height must be whole numbers of pixels')
    return Camera(*(float(matrix[place]) for place in ((0, 0), (1, 1), (0, 2), (1, 2))), size=size, source=text)


def estimate_intrinsics(pointmap: np.ndarray, mask: Optional[np.ndarray] = None, centred: bool = True) \
        -> Optional[np.ndarray]:
    """K, (3, 3) float64, pixels, whose rays through the pixels come nearest to their points.

    Least squares of x/z and y/z, with Cauchy's weights for outliers (Holland and Welsch, "Robust regression using
    iteratively reweighted least-squares", 1977).

    Args:
        pointmap: (H, W, 3), metres or any other unit, camera frame.
        mask: (H, W), true where points count. Those that are not finite or not in front of the camera never do.
        centred: one focal length, and the principal point in the middle of the picture, as in a photograph that was
            not cut. Otherwise fx, fy, cx, cy, which takes points far apart.

    Returns:
        None if there are fewer than 100 points, or no camera sees them so.
    """
    height, width = pointmap.shape[:2]
    step = max(1, int(np.sqrt((height * width if mask is None else np.count_nonzero(mask)) / _SAMPLES)))
    points = pointmap[::step, ::step].astype(np.float64)
    seen = np.isfinite(points).all(axis=-1) & (points[..., 2] > 0)
    if mask is not None:
        seen &= mask[::step, ::step] > 0
    if seen.sum() < _FEWEST:
        return None
    rows, columns = np.nonzero(seen)
    slopes = points[seen][:, :2] / points[seen][:, 2:]
    pixels = np.stack([columns, rows], axis=-1) * float(step)
    middle = np.array([width - 1, height - 1]) / 2
    weights = np.ones((len(pixels), 1))
    for _ in range(_ROUNDS):
        # slope = pixel / focal + offset: pixels are exact, slopes are not.
        origin = middle if centred else np.average(pixels, axis=0, weights=weights[:, 0])
        level = 0.0 if centred else np.average(slopes, axis=0, weights=weights[:, 0])
        moments = [(weights * (pixels - origin) * values).sum(axis=0) for values in (slopes - level, pixels - origin)]
        if centred:
            moments = [np.repeat(moment.sum(), 2) for moment in moments]
        if not (np.array(moments) > 0).all():
            return None
        focal = moments[1] / moments[0]
        centre = origin - focal * level
        distances = np.linalg.norm((pixels - centre) / focal - slopes, axis=-1, keepdims=True)
        # 2.385 standard deviations, of which the median is 0.675 for a normal distribution.
        weights = 1 / (1 + (distances / max(2.385 / 0.675 * float(np.median(distances)), 1e-9))**2)
    if not (np.isfinite([*focal, *centre]).all() and (focal > 0).all()):
        return None
    return np.array([[focal[0], 0, centre[0]], [0, focal[1], centre[1]], [0, 0, 1]])


def rescale_to_camera(pointmap: np.ndarray, focal: float, matrix: np.ndarray) -> np.ndarray:
    """The pointmap as it is if the camera is known, (H, W, 3) float32 metres.

    A network that predicts canonical points and the scale that leads to metres has with this scale also guessed a
    focal length (see ``PointmapHead``). The right one in its place multiplies all depths by fx / ``focal`` (Yin et
    al., "Metric3D", arXiv 2307.10984), and puts each point on the ray of its pixel.

    Args:
        pointmap: (H, W, 3) metres as predicted.
        focal: focal length that the predicted scale stands for, pixels of the source image.
        matrix: K (3, 3), pixels of the source image.
    """
    height, width = pointmap.shape[:2]
    (fx, _, cx), (_, fy, cy) = matrix[:2]
    depth = pointmap[..., 2] * np.float32(fx / focal)
    x = ((np.arange(width) - cx) / fx).astype(np.float32)
    y = ((np.arange(height) - cy) / fy).astype(np.float32)
    return np.stack([depth * x, depth * y[:, None], depth], axis=-1)


def apply_camera(result: Mapping[str, Any], camera: Camera) -> dict[str, np.ndarray]:
    """The entries of a result for 'pointmap' that change where the camera is known: ``pointmap`` and ``camera``.

    Args:
        result: with ``pointmap``, ``focal`` (1,), the focal length that its scale stands for, and ``image_size``.

    Raises:
        ValueError: if the camera cannot be of this picture.
    """
    matrix = camera.matrix(tuple(result['image_size']))
    return {'pointmap': rescale_to_camera(result['pointmap'], float(result['focal'][0]), matrix), 'camera': matrix}
