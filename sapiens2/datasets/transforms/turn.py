"""Mirror and rotate picture and fields."""

from __future__ import annotations

import numpy as np

from sapiens2.datasets.transforms.base import RandomStep
from sapiens2.datasets.transforms.fields import FIELDS, Results
from sapiens2.datasets.transforms.lazy import LazyResults
from sapiens2.registry import TRANSFORMS


@TRANSFORMS.register_module()
class RandomFlip(RandomStep):
    """Mirror left to right: x of normals changes its sign, left and right classes and points change places.

    What is left and right is read from the data set's metainfo.

    Args:
        prob: how often.
    """

    def __init__(self, prob: float = 0.5) -> None:
        super().__init__(prob)

    def apply(self, results: Results) -> LazyResults:
        """Mirror ``results``."""
        # Points and classes that do not change sides with the picture would be trained wrongly.
        indices = self.need_meta(
            results, 'flip_indices', 'give it metainfo=dict(flip_indices=[...]): where each key point stands after the '
            'mirroring, left and right swapped') if 'keypoints' in results else ()
        pairs = self.need_meta(
            results, 'flip_pairs', 'give it metainfo=dict(flip_pairs=[[left, right], ...]) of the labels that swap, '
            'empty if none has a side') if 'sem_seg' in results else ()
        labels = np.arange(256, dtype=np.uint8)
        for left, right in pairs:
            labels[left], labels[right] = right, left
        turn = np.diag([-1.0, 1, 1])
        results = LazyResults.of(results)
        results.look(results.view.mirrored(labels, turn), turn)
        if 'keypoints' in results:
            for name in ('keypoints', 'keypoints_visible', 'keypoints_hidden'):
                if name in results:
                    results[name] = np.take(results[name], indices, axis=1)
        results['flip'] = not results.get('flip', False)
        return results


@TRANSFORMS.register_module()
class RandomRotate(RandomStep):
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
        self.pad_values = {'img': pad_val, 'sem_seg': seg_pad_val}

    def apply(self, results: Results) -> LazyResults:
        """Rotate ``results``."""
        results = LazyResults.of(results)
        if not results.view.upright:
            results.settle()  # its corners have been filled
        angle = np.deg2rad(np.random.uniform(-self.degree, self.degree))  # clockwise on the screen
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
        height, width = results.view.size
        center = np.array([(width - 1) / 2, (height - 1) / 2])
        matrix = turn.copy()
        matrix[:2, 2] = center - turn[:2, :2] @ center
        return results.look(results.view.rotated(matrix, turn, self.pad_values), turn)
