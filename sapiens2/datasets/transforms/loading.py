"""First steps of a pipeline: the picture, and its ground truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mmcv.transforms import BaseTransform

from sapiens2.datasets.checks.fields import field_faults
from sapiens2.datasets.errors import DataError, Fault, Kind, raise_first
from sapiens2.datasets.field_files import READERS
from sapiens2.datasets.transforms.fields import FIELDS, Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import ImageReadError, read_image


class LoadingStep(BaseTransform):
    """A step that reads, and says what is wrong with what it reads.

    ``transform`` raises the first fault; ``sapiens2 data check`` calls ``load`` and collects all.
    """

    def transform(self, results: Results) -> Results:
        """Add what is read to ``results``."""
        raise_first(self.load(results))
        return results

    def load(self, results: Results) -> Iterator[Fault]:
        """Add what can be read to ``results``, and yield what is wrong."""
        raise NotImplementedError


@TRANSFORMS.register_module()
class LoadImage(LoadingStep):
    """Read ``img_path`` unless ``img`` is there already.

    Sets ``img`` (H, W, 3) uint8 BGR, ``ori_shape`` and ``img_shape`` (H, W), ``padding`` and ``flip``.

    Raises:
        ImageReadError: if the file cannot be read.
        DataError: if the picture has another size than its annotation (``height``, ``width``) says.
    """

    def load(self, results: Results) -> Iterator[Fault]:
        """Add the picture to ``results``."""
        if 'img' not in results:
            results['img'] = read_image(results['img_path'])
        shape = results['img'].shape[:2]
        results.setdefault('sample_id', str(results.get('img_path', 'picture in memory')))
        results.update(ori_shape=shape, img_shape=shape, padding=(0, 0, 0, 0), flip=False)
        said = results.get('height', shape[0]), results.get('width', shape[1])
        if said != shape:
            yield Fault(Kind.SIZE, results['img_path'], f'the annotation says height, width {said}, the picture has '
                        f'{shape}', 'img', _orientation_remedy(said, shape))


@TRANSFORMS.register_module()
class LoadFields(LoadingStep):
    """Read the files of ``field_paths`` (name -> path) and check them against the picture.

    ``mask`` is made for normal, depth and albedo: the mask file where there is one, without the pixels that have
    no valid value.

    Args:
        for_eval: put the fields under ``eval_fields``, where they keep the size of the source image, in place of
            moving them with the picture.
        depth_unit: metres of one step of a depth file that holds whole numbers.
        statistics: whether fields are refused whose values cannot be what they should: depth in millimetres, normals
            of another camera frame, K of another image size, a mask without a pixel. It takes less than a millisecond.

    Raises:
        DataError: naming the file and what is wrong with it.
    """

    def __init__(self, for_eval: bool = False, depth_unit: float = 0.001, statistics: bool = True) -> None:
        self.for_eval = for_eval
        self.options = {'depth': (depth_unit,)}
        self.statistics = statistics

    def load(self, results: Results) -> Iterator[Fault]:
        """Add the fields to ``results``."""
        shape, paths = results['ori_shape'], results['field_paths']
        fields: Results = {}
        for name, path in paths.items():
            options = (results['label_table'],) if name == 'sem_seg' else self.options.get(name, ())
            try:
                value = READERS[name](path, *options)
            except DataError as error:
                yield error.fault
                continue
            except ImageReadError as error:
                # An image that cannot be read may be passed over in training, ground truth may not.
                yield Fault(Kind.UNREADABLE, error.path, error.reason, name)
                continue
            if name in FIELDS and value.shape[:2] != shape:
                yield Fault(Kind.SIZE, str(path), f'{name} has height, width {value.shape[:2]}, {results["img_path"]} '
                            f'has {shape}', name, _orientation_remedy(value.shape[:2], shape))
            else:
                fields[name] = value
        valid = [fields[name].any(axis=-1) for name in ('normal',) if name in fields]
        valid += [fields[name] > 0 for name in ('depth', 'mask') if name in fields]
        if valid or 'albedo' in fields:
            fields['mask'] = np.logical_and.reduce([np.ones(shape, bool), *valid]).astype(np.uint8)
        if self.statistics:
            yield from field_faults(fields, shape, paths, str(results['img_path']))
        if self.for_eval:
            results['eval_fields'] = fields
        else:
            results.update(fields)


def _orientation_remedy(said: tuple[int, int], shape: tuple[int, int]) -> str:
    """What to do about two sizes that differ."""
    if said == shape[::-1]:
        return ('they lie crosswise: pictures are turned upright by their EXIF orientation, so ground truth must be '
                'upright too')
    return 'they must be equal'
