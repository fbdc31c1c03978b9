"""First steps of a pipeline: the picture, and its ground truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapiens2.datasets.errors import DataError, Fault, Kind, raise_first
from sapiens2.datasets.field_files import READERS
from sapiens2.datasets.rules.fields import field_faults
from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import FIELDS, Results
from sapiens2.registry import TRANSFORMS
from sapiens2.utils.image_io import ImageReadError, read_image


class LoadingStep(Step):
    """A step that reads, and says what is wrong with what it reads; ``read`` is the step itself.

    ``transform`` raises the first fault; ``sapiens2 data check`` calls ``load`` and collects all.
    """

    def transform(self, results: Results) -> Results:
        """Add what is read to ``results``."""
        raise_first(self.load(results))
        return results

    def load(self, results: Results) -> Iterator[Fault]:
        """Add what can be read to ``results``, and yield what is wrong.

        Raises:
            DataError: if ``results`` lack what the step needs.
        """
        self.check(results)
        yield from self.read(results)

    def read(self, results: Results) -> Iterator[Fault]:
        """The step itself."""
        raise NotImplementedError


@TRANSFORMS.register_module()
class LoadImage(LoadingStep):
    """Read ``img_path`` unless ``img`` is there already.

    Sets ``img`` (H, W, 3) uint8 BGR, ``ori_shape`` and ``img_shape`` (H, W), ``padding`` and ``flip``.

    Raises:
        ImageReadError: if the file cannot be read.
        DataError: if the picture has another size than its annotation (``height``, ``width``) says.
    """

    def check(self, results: Results) -> None:
        """Either the picture or its file must be there."""
        if 'img' not in results:
            self.require(results, 'img_path')

    def read(self, results: Results) -> Iterator[Fault]:
        """Add the picture to ``results``."""
        if 'img' not in results:
            results['img'] = read_image(results['img_path'])
        shape = results['img'].shape[:2]
        results.setdefault('sample_id', _image_name(results))
        results.update(ori_shape=shape, img_shape=shape, padding=(0, 0, 0, 0), flip=False)
        said = results.get('height', shape[0]), results.get('width', shape[1])
        if said != shape:
            yield Fault(Kind.SIZE, _image_name(results), f'the annotation says height, width {said}, the picture has '
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

    needs = ('ori_shape', 'field_paths')

    def __init__(self, for_eval: bool = False, depth_unit: float = 0.001, statistics: bool = True) -> None:
        self.for_eval = for_eval
        self.options = {'depth': (depth_unit,)}
        self.statistics = statistics

    def check(self, results: Results) -> None:
        """Labels need the table of those that are allowed, too."""
        super().check(results)
        if 'sem_seg' in results['field_paths']:
            self.require(results, 'label_table')

    def read(self, results: Results) -> Iterator[Fault]:
        """Add the fields to ``results``."""
        shape, paths, image = results['ori_shape'], results['field_paths'], _image_name(results)
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
                yield Fault(Kind.SIZE, str(path), f'{name} has height, width {value.shape[:2]}, {image} has '
                            f'{shape}', name, _orientation_remedy(value.shape[:2], shape))
            else:
                fields[name] = value
        valid = [fields['normal'].any(axis=-1)] if 'normal' in fields else []
        valid += [fields[name] > 0 for name in ('depth', 'mask') if name in fields]
        if valid or 'albedo' in fields:
            fields['mask'] = np.logical_and.reduce([np.ones(shape, bool), *valid]).astype(np.uint8)
        if self.statistics:
            yield from field_faults(fields, shape, paths, image)
        if self.for_eval:
            results['eval_fields'] = fields
        else:
            results.update(fields)


def _image_name(results: Results) -> str:
    return str(results.get('img_path', 'picture in memory'))


def _orientation_remedy(said: tuple[int, int], shape: tuple[int, int]) -> str:
    """What to do about two sizes that differ."""
    if said == shape[::-1]:
        return ('they lie crosswise: pictures are turned upright by their EXIF orientation, so ground truth must be '
                'upright too')
    return 'they must be equal'
