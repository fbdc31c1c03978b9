"""From samples of crops to a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.utils.data import default_collate

from sapiens2.registry import FUNCTIONS


@FUNCTIONS.register_module()
def collate_crops(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Stack what ``PackCrops`` gives.

    Returns:
        ``inputs``: each tensor with a first dimension B more; in a worker, in shared memory at once. ``data_samples``:
        the list.
    """
    return {'inputs': default_collate([sample['inputs'] for sample in samples]),
            'data_samples': [sample['data_samples'] for sample in samples]}
