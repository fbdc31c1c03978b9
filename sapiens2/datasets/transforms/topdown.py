"""From a person's box to the network input of pose estimation."""

from __future__ import annotations

import cv2
import numpy as np

from sapiens2.datasets.transforms.base import RandomStep, Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.topdown import apply_affine, box_to_center_scale, fix_aspect, udp_matrix


@TRANSFORMS.register_module()
class GetBBoxCenterScale(Step):
    """Turn ``bboxes`` (1, 4) into ``bbox_center`` and ``bbox_scale`` (1, 2), pixels of the picture.

    Args:
        padding: factor on the box's sides.
        aspect: w / h of the network input, to which the box is grown.
    """

    needs = ('bboxes',)

    def __init__(self, padding: float = 1.25, aspect: float = 3 / 4) -> None:
        self.padding = padding
        self.aspect = aspect

    def apply(self, results: Results) -> Results:
        """Add centre and scale to ``results``."""
        results['bbox_center'], results['bbox_scale'] = box_to_center_scale(
            results['bboxes'], self.padding, self.aspect)
        return results


@TRANSFORMS.register_module()
class RandomHalfBody(RandomStep):
    """Look at the upper or the lower half of a person of whom enough points are labelled.

    Args:
        min_total_keypoints: fewest labelled points of the person.
        min_upper_keypoints: fewest labelled points of an upper half that is looked at.
        min_lower_keypoints: the same of a lower half.
        padding: factor on the sides of the half's box.
        upper_prob: how often the upper half is taken where both would do.
        prob: how often.
    """

    needs = ('bbox_center', 'bbox_scale', 'keypoints', 'keypoints_visible')

    def __init__(self, min_total_keypoints: int = 9, min_upper_keypoints: int = 2, min_lower_keypoints: int = 3,
                 padding: float = 1.5, upper_prob: float = 0.7, prob: float = 0.3) -> None:
        super().__init__(prob)
        self.min_total_keypoints = min_total_keypoints
        self.min_half_keypoints = {
            'upper_body_ids': min_upper_keypoints, 'lower_body_ids': min_lower_keypoints}
        self.padding = padding
        self.upper_prob = upper_prob

    def apply(self, results: Results) -> Results:
        """Replace centre and scale in ``results``."""
        visible = results['keypoints_visible'][0] > 0
        if visible.sum() < self.min_total_keypoints:
            return results
        halves = []
        for name, fewest in self.min_half_keypoints.items():
            ids = np.asarray(self.need_meta(results, name, f'give it metainfo=dict({name}=[...])'))
            points = results['keypoints'][0, ids[visible[ids]]]
            if len(points) >= fewest and np.ptp(points, axis=0).min() > 0:
                halves.append(points)
        if not halves:
            return results
        points = halves[0] if len(halves) == 1 or np.random.random() < self.upper_prob else halves[1]
        box = np.concatenate([points.min(axis=0), points.max(axis=0)])[None]
        scale = results['bbox_scale'][0]
        results['bbox_center'], results['bbox_scale'] = box_to_center_scale(box, self.padding, scale[0] / scale[1])
        return results


@TRANSFORMS.register_module()
class RandomBBoxTransform(RandomStep):
    """Shift, scale and rotate the crop by normally distributed amounts, cut at their largest.

    Args:
        shift_factor: largest shift, share of the crop's sides.
        shift_prob: how often it is shifted.
        scale_factor: smallest and largest factor on the crop's sides.
        scale_prob: how often it is scaled.
        rotate_factor: largest angle, degrees.
        rotate_prob: how often it is rotated.
    """

    needs = ('bbox_center', 'bbox_scale')

    def __init__(self, shift_factor: float = 0.16, shift_prob: float = 0.3,
                 scale_factor: tuple[float, float] = (0.5, 1.5), scale_prob: float = 1.0, rotate_factor: float = 80.0,
                 rotate_prob: float = 0.5) -> None:
        super().__init__()
        self.shift_factor = shift_factor
        self.shift_prob = shift_prob
        self.scale_factor = tuple(scale_factor)
        self.scale_prob = scale_prob
        self.rotate_factor = rotate_factor
        self.rotate_prob = rotate_prob

    def apply(self, results: Results) -> Results:
        """Change centre and scale of ``results`` and set ``bbox_rotation``, degrees."""
        shift, factor, rotation = np.zeros(2), 1.0, 0.0
        if np.random.random() < self.shift_prob:
            shift = _truncated_normal(2) * self.shift_factor
        if np.random.random() < self.scale_prob:
            smallest, largest = self.scale_factor
            factor = (smallest + largest) / 2 + _truncated_normal(1)[0] * (largest - smallest) / 2
        if np.random.random() < self.rotate_prob:
            rotation = float(_truncated_normal(1)[0] * self.rotate_factor)
        scale = results['bbox_scale']
        results['bbox_center'] = (results['bbox_center'] + shift * scale).astype(np.float32)
        results['bbox_scale'] = (scale * factor).astype(np.float32)
        results['bbox_rotation'] = rotation
        return results


def _truncated_normal(count: int) -> np.ndarray:
    """Standard normal numbers of at most 1 either way."""
    values = np.random.standard_normal(count)
    while (outside := np.abs(values) > 1).any():
        values[outside] = np.random.standard_normal(outside.sum())
    return values


@TRANSFORMS.register_module()
class TopdownAffine(Step):
    """Cut the person out with the unbiased affine map of ``sapiens2.utils.topdown``.

    Sets ``img``, ``img_shape``, ``input_center`` and ``input_scale`` (2,), pixels of the source image, and where there
    are key points, ``input_keypoints`` (1, K, 2), pixels of the network input; ``keypoints`` stay in the source.

    Args:
        input_size: (W, H) of the network input, as of the codec.
    """

    needs = ('img', 'bbox_center', 'bbox_scale')

    def __init__(self, input_size: tuple[int, int]) -> None:
        self.input_size = tuple(input_size)

    def apply(self, results: Results) -> Results:
        """Replace the picture in ``results`` by the crop."""
        center = results['bbox_center'][0]
        scale = fix_aspect(results['bbox_scale'][0], self.input_size[0] / self.input_size[1])
        matrix = udp_matrix(center, scale, self.input_size, results.get('bbox_rotation', 0.0))
        results['img'] = cv2.warpAffine(results['img'], matrix, self.input_size, flags=cv2.INTER_LINEAR)
        results.update(img_shape=self.input_size[::-1], input_center=center, input_scale=scale)
        if 'keypoints' in results:
            results['input_keypoints'] = apply_affine(results['keypoints'], matrix)
        return results
