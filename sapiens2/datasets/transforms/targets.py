"""What the heads are trained to give, made of the ground truth."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from sapiens2.datasets.errors import Kind
from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import CODECS, TRANSFORMS, build_from
from sapiens2.utils.pinhole import unproject


@TRANSFORMS.register_module()
class GenerateHeatmaps(Step):
    """Encode ``input_keypoints`` as ``heatmaps`` (K, h, w) and ``keypoint_weights`` (K,).

    Args:
        codec: from the registry of codecs, or its configuration.
        use_joint_weights: whether weights are multiplied by those of the data set's metainfo.
    """

    needs = ('input_keypoints', 'keypoints_visible')

    def __init__(self, codec: Union[dict, Any], use_joint_weights: bool = False) -> None:
        self.codec = build_from(CODECS, codec)
        self.use_joint_weights = use_joint_weights

    def apply(self, results: Results) -> Results:
        """Add the targets to ``results``."""
        results.update(self.codec.encode(results['input_keypoints'], results['keypoints_visible']))
        if self.use_joint_weights:
            weights = self.need_meta(
                results, 'joint_weights', 'give it metainfo=dict(joint_weights=[...]), one number a point')
            results['keypoint_weights'] *= np.asarray(weights, dtype=np.float32)
        return results


@TRANSFORMS.register_module()
class GeneratePointmap(Step):
    """Make ``pointmap`` (H, W, 3), metres, camera frame, of ``depth`` and ``K``, and ``scale`` (1,).

    Where ``eval_fields`` hold depth, they get a point map too. Pixels without depth become the camera's centre.

    Args:
        canonical_focal_length: pixels; ``scale`` is this over fx of the network input, and pointmap * scale is what
            a camera of that focal length would have seen.

    Raises:
        DataError: if there is depth without K: a focal length is never guessed.
    """

    def __init__(self, canonical_focal_length: float = 768.0) -> None:
        self.canonical_focal_length = canonical_focal_length

    def apply(self, results: Results) -> Results:
        """Add the targets to ``results``."""
        for fields in (results, results.get('eval_fields', {})):
            if 'depth' not in fields:
                continue
            if 'K' not in fields:
                raise self.fault(
                    results, Kind.MISSING_FIELD, 'K', 'makes points of depth and K, and K is missing',
                    'give the data set data_prefix=dict(K=...): a folder of json or npy files, or one file for all')
            fields['pointmap'] = unproject(fields['depth'], fields['K'])
            fields['scale'] = np.array([self.canonical_focal_length / fields['K'][0, 0]], dtype=np.float32)
        return results
