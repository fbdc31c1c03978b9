"""What stored labels become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.metainfo import IGNORE_LABEL


@dataclass(frozen=True)
class LabelTable:
    """What each stored label becomes, and which are out of range.

    Attributes:
        mapped: (256,) uint8 label of each stored value.
        wrong: (256,) uint8, 1 where the stored value may not occur.
        valid: said of the values that may, in errors.
    """

    mapped: np.ndarray
    wrong: np.ndarray
    valid: str

    @classmethod
    def build(cls, num_classes: int, label_map: Optional[Mapping[int, int]] = None) -> LabelTable:
        """From ``label_map`` (stored value -> label), or for labels that are stored as they are.

        Raises:
            DataError: naming the first entry of ``label_map`` that cannot be.
        """
        pairs = dict(label_map) if label_map is not None else {label: label for label in range(num_classes)}
        if not pairs:
            raise DataError('label_map is empty: name a label for each stored value, or leave it out')
        for source, target in pairs.items():
            if not _is_label(source, 256):
                raise DataError(f'label_map: {source!r} is no value that a label map can hold, a whole number from 0 '
                                'to 255')
            if not _is_label(target, num_classes) and target != IGNORE_LABEL:
                raise DataError(f'label_map[{source}]: {target!r} is none of the {num_classes} classes, 0 to '
                                f'{num_classes - 1}, nor {IGNORE_LABEL} for none')
        pairs.setdefault(IGNORE_LABEL, IGNORE_LABEL)
        mapped, wrong = np.full(256, IGNORE_LABEL, np.uint8), np.ones(256, np.uint8)
        for source, target in pairs.items():
            mapped[source], wrong[source] = target, 0
        sources = sorted(set(pairs) - {IGNORE_LABEL})
        span = f'{sources[0]} to {sources[-1]}, or ' if sources else ''
        return cls(mapped, wrong, f'{span}{IGNORE_LABEL} for none')


def _is_label(value: Any, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
