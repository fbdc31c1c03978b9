"""Mirror and rotate picture and fields."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomTransform
from sapiens2.datasets.transforms.fields import FIELDS, Field, Results, move
from sapiens2.registry import TRANSFORMS


def flip_all(results: Results, flip_pairs: Sequence[Sequence[int]] = (), flip_indices: Sequence[int] = ()) -> Results:
    """Mirror left to right, in place: x of normals changes its sign, left and right classes and points change places.

    Args:
        flip_pairs: [left, right] labels.
        flip_indices: where each key point stands after the mirroring.
    """
    labels = np.arange(256, dtype=np.uint8)
    for left, right in flip_pairs:
        labels[left], labels[right] = right, left

    def resample(raster: np.ndarray, field: Field) -> np.ndarray:
        raster = cv2.flip(raster, 1)
        return cv2.LUT(raster, labels) if field.has_sides else raster

    width = results['img'].shape[1]
    move(results, resample, np.array([[-1.0, 0, width - 1], [0, 1, 0], [0, 0, 1]]), np.diag([-1.0, 1, 1]))
    if 'keypoints' in results:
        for name in ('keypoints', 'keypoints_visible'):
            results[name] = np.take(results[name], flip_indices, axis=1)
    results['flip'] = not results['flip']
    return results


@TRANSFORMS.register_module()
class RandomFlip(RandomTransform):
    """Mirror left to right; what is left and right is read from the data set's metainfo.

    Args:
        prob: how often.
    """

    def __init__(self, prob: float = 0.5) -> None:
        super().__init__(prob)

    def apply(self, results: Results) -> Results:
        """Mirror ``results`` in place."""
        meta = results['dataset_meta']
        # Classes may have no sides; key points without their mirror images would be trained wrongly.
        flip_indices = meta['flip_indices'] if 'keypoints' in results else ()
        return flip_all(results, meta.get('flip_pairs', ()), flip_indices)


@TRANSFORMS.register_module()
class RandomRotate(RandomTransform):
    """Rotate about the centre of the picture by a random angle; the size stays, corners are filled.

    The camera turns about its optical axis with the picture.

    Args:
        degree: largest angle either way.
        pad_val: grey value of the corners, 0 to 255.
        seg_pad_val: label of the corners.
        prob: how often.
    """

    def __init__(self, degree: float, pad_val: float = 0.0, seg_pad_val: int = int(FIELDS['sem_seg'].pad_value),
                 prob: float = 0.5) -> None:
        super().__init__(prob)
        self.degree = degree
        self.pad_values = {FIELDS['img']: pad_val, FIELDS['sem_seg']: seg_pad_val}

    def apply(self, results: Results) -> Results:
        """Rotate ``results`` in place."""
        return rotate_all(results, np.random.uniform(-self.degree, self.degree), self.pad_values)


def rotate_all(results: Results, degree: float, pad_values: dict[Field, float]) -> Results:
    """Rotate clockwise on the screen about the centre, in place; ``pad_values`` override those of the fields."""
    height, width = results['img'].shape[:2]
    cos, sin = np.cos(np.deg2rad(degree)), np.sin(np.deg2rad(degree))
    turn = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    center = np.array([(width - 1) / 2, (height - 1) / 2])
    matrix = turn.copy()
    matrix[:2, 2] = center - turn[:2, :2] @ center

    def resample(raster: np.ndarray, field: Field) -> np.ndarray:
        value = pad_values.get(field, field.pad_value)
        return cv2.warpAffine(raster, matrix[:2], (width, height), flags=field.warp_interpolation,
                              borderMode=cv2.BORDER_CONSTANT, borderValue=[value] * 4)

    return move(results, resample, matrix, turn)
