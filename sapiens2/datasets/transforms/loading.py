"""First steps of a pipeline: the picture, and its ground truth."""

from __future__ import annotations

import numpy as np
from mmcv.transforms import BaseTransform

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.field_files import READERS
from sapiens2.datasets.transforms.fields import FIELDS, Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import read_image


@TRANSFORMS.register_module()
class LoadImage(BaseTransform):
    """Read ``img_path`` unless ``img`` is there already.

    Sets ``img`` (H, W, 3) uint8 BGR, ``ori_shape`` and ``img_shape`` (H, W), ``padding`` and ``flip``.

    Raises:
        ImageReadError: if the file cannot be read.
        DataError: if the picture has another size than its annotation (``height``, ``width``) says.
    """

    def transform(self, results: Results) -> Results:
        """Add the picture to ``results``."""
        if 'img' not in results:
            results['img'] = read_image(results['img_path'])
        shape = results['img'].shape[:2]
        said = results.get('height', shape[0]), results.get('width', shape[1])
        if said != shape:
            raise DataError(f'{results["img_path"]}: the annotation says height, width {said}, the picture has {shape}'
                            + _orientation_hint(said, shape))
        results.setdefault('sample_id', str(results.get('img_path', 'picture in memory')))
        results.update(ori_shape=shape, img_shape=shape, padding=(0, 0, 0, 0), flip=False)
        return results


@TRANSFORMS.register_module()
class LoadFields(BaseTransform):
    """Read the files of ``field_paths`` (name -> path) and check them against the picture.

    ``mask`` is made for normal, depth and albedo: the mask file where there is one, without the pixels that have
    no valid value.

    Args:
        for_eval: put the fields under ``eval_fields``, where they keep the size of the source image, in place of
            moving them with the picture.
        depth_unit: metres of one step of a depth file that holds whole numbers.

    Raises:
        DataError, ImageReadError: naming the file and what is wrong with it.
    """

    def __init__(self, for_eval: bool = False, depth_unit: float = 0.001) -> None:
        self.for_eval = for_eval
        self.options = {'depth': (depth_unit,)}

    def transform(self, results: Results) -> Results:
        """Add the fields to ``results``."""
        fields: Results = {}
        for name, path in results['field_paths'].items():
            options = (results['label_table'],) if name == 'sem_seg' else self.options.get(name, ())
            fields[name] = READERS[name](path, *options)
            shape = fields[name].shape[:2]
            if name in FIELDS and shape != results['ori_shape']:
                raise DataError(f'{path}: {name} has height, width {shape}, {results["img_path"]} has '
                                f'{results["ori_shape"]}' + _orientation_hint(shape, results['ori_shape']))
        valid = [fields[name].any(axis=-1) for name in ('normal',) if name in fields]
        valid += [fields[name] > 0 for name in ('depth', 'mask') if name in fields]
        if valid or 'albedo' in fields:
            fields['mask'] = np.logical_and.reduce([np.ones(results['ori_shape'], bool), *valid]).astype(np.uint8)
        if self.for_eval:
            results['eval_fields'] = fields
        else:
            results.update(fields)
        return results


def _orientation_hint(said: tuple[int, int], shape: tuple[int, int]) -> str:
    """What to do about two sizes that differ."""
    if said == shape[::-1]:
        return ('. They lie crosswise: pictures are turned upright by their EXIF orientation, so ground truth must be '
                'upright too')
    return '. They must be equal'
