"""Steps that each of several crops goes through by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from mmcv.transforms import Compose

from sapiens2.datasets.transforms.base import Step
from sapiens2.datasets.transforms.fields import Results
from sapiens2.registry import TRANSFORMS, build_from

KINDS = ('global_crops', 'local_crops')


@TRANSFORMS.register_module()
class AugmentCrops(Step):
    """Send crops through ``steps``, each with its own random numbers; what a crop's sample knows besides is not seen.

    Args:
        steps: transforms of ``img`` that keep its size, or configurations of them.
        global_crops: whether global crops go through, or which of them by number, from 0 on.
        local_crops: the same of local ones.
    """

    needs = ('global_crops',)

    def __init__(self, steps: Sequence[Union[dict, Callable]], global_crops: Union[bool, Sequence[int]] = True,
                 local_crops: Union[bool, Sequence[int]] = True) -> None:
        self.steps = Compose([build_from(TRANSFORMS, step) for step in steps])
        self.chosen = dict(zip(KINDS, (global_crops, local_crops)))

    def apply(self, results: Results) -> Results:
        """Change the crops in ``results``."""
        for name, chosen in self.chosen.items():
            crops = results.get(name, [])
            for number in range(len(crops)):
                if chosen is True or chosen is not False and number in chosen:
                    crops[number] = self.steps({'img': crops[number], 'sample_id': results.get('sample_id')})['img']
        return results
