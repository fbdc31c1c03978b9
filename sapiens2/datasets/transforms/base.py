"""Steps that say what they need, and steps that happen with some probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from mmcv.transforms import BaseTransform

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.datasets.transforms.fields import FIELDS, Results, raster_fault
from sapiens2.datasets.transforms.lazy import stored

_LOAD_FIELDS = 'put LoadFields before it, and name the folder of {name} in data_prefix of the data set'
_IN_DATA_SET = 'use a data set of sapiens2.datasets'
_LOAD_KEYPOINTS = 'use a data set with key points, such as CocoPoseDataset'
_REMEDIES = {
    'img': 'start the pipeline with LoadImage', 'ori_shape': 'put LoadImage before it',
    'img_path': _IN_DATA_SET, 'label_table': _IN_DATA_SET,
    'field_paths': 'use a data set with ground truth for each pixel, such as DenseFolderDataset, or take this step out',
    'bboxes': 'use a data set with boxes of people, such as CocoPoseDataset',
    'bbox_center': 'put GetBBoxCenterScale before it', 'bbox_scale': 'put GetBBoxCenterScale before it',
    'global_crops': 'put MultiCrop before it',
    'keypoints': _LOAD_KEYPOINTS, 'keypoints_visible': _LOAD_KEYPOINTS,
    'input_keypoints': 'put TopdownAffine before it, and use a data set with key points',
    'dataset_meta': 'use a data set of sapiens2.datasets, or set it to metainfo with what is left and right',
}


class Step(BaseTransform):
    """A step of a pipeline that checks what it is given; ``apply`` is the step itself.

    Attributes:
        needs: fields without which the step cannot be.

    Raises:
        DataError: naming the sample, the step, the field that is missing or has the wrong shape or type, and what to
            do.
    """

    needs: tuple[str, ...] = ()

    def transform(self, results: Results) -> Any:
        """Check ``results`` and change them; use what is returned."""
        self.check(results)
        return self.apply(results)

    def check(self, results: Results) -> None:
        """Look at the fields of ``needs``."""
        self.require(results, *self.needs)

    def require(self, results: Results, *names: str) -> None:
        """Look at the fields ``names``."""
        for name in names:
            if name not in results:
                remedy = _REMEDIES.get(name, _LOAD_FIELDS.format(name=name))
                raise self.fault(results, Kind.MISSING_FIELD, name, f'needs {name}, which this sample does not have',
                                 remedy)
            fault = raster_fault(name, stored(results, name)) if name in FIELDS else None
            if fault:
                raise self.fault(results, Kind.SHAPE, name, f'cannot use {fault}')

    def need_meta(self, results: Results, name: str, remedy: str) -> Any:
        """Entry ``name`` of the data set's metainfo."""
        meta = results.get('dataset_meta', {})
        if name not in meta:
            raise self.fault(results, Kind.MISSING_FIELD, f'dataset_meta.{name}',
                             f'needs {name} in the metainfo of the data set', remedy)
        return meta[name]

    def fault(self, results: Results, kind: Kind, field: str, message: str, remedy: str = '') -> DataError:
        """An error that names the sample and this step."""
        sample = str(results.get('sample_id', results.get('img_path', 'a sample without sample_id')))
        return DataError(Fault(kind, sample, f'{type(self).__name__} {message}', field, remedy))

    def apply(self, results: Results) -> Any:
        """The step itself."""
        raise NotImplementedError


class RandomStep(Step):
    """Do it with probability ``prob``; randomness comes from ``numpy.random``, which a ``Draw`` seeds."""

    needs = ('img',)

    def __init__(self, prob: float = 1.0) -> None:
        if not 0 <= prob <= 1:
            raise ValueError(f'{type(self).__name__}.prob must lie in [0, 1], not {prob}')
        self.prob = prob

    def transform(self, results: Results) -> Results:
        """Check ``results``, and change them or leave them; use what is returned."""
        self.check(results)
        return self.apply(results) if np.random.random() < self.prob else results
