"""What is probed, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from sapiens2.datasets.errors import DataError
from sapiens2.utils.choices import CLASS_PROBES, FEW, FIELD_OF_PROBE, PROBES
from sapiens2.utils.suggest import UnknownNameError, unknown_name

POOLS = ('cls', 'mean')


@dataclass(frozen=True)
class ProbeOptions:
    """Options of a run.

    Attributes:
        probes: some of ``PROBES``; None takes all that the data allow.
        size: (H, W) of the input, pixels; None takes what each backbone is made for.
        pool: what stands for a whole picture: the class token ('cls') or the mean of the patches ('mean').
        cells: along a side of a patch, each with a prediction of its own.
        shots: pictures of few-shot probes; of each class for class tokens.
        draws: few-shot training sets, whose spread is told.
        seed: of splits, draws and random weights.
        baselines: whether pixels and the first backbone with random weights are measured, too.
        shown: pictures in the report.
    """

    probes: Optional[tuple[str, ...]] = None
    size: Optional[tuple[int, int]] = None
    pool: str = 'cls'
    cells: int = 2
    shots: tuple[int, ...] = (1, 10, 100)
    draws: int = 5
    seed: int = 0
    baselines: bool = True
    shown: int = 6

    def __post_init__(self) -> None:
        for name in self.probes or ():
            if name not in PROBES:
                raise UnknownNameError(unknown_name(name, PROBES, 'probe'))
        if self.pool not in POOLS:
            raise UnknownNameError(unknown_name(self.pool, POOLS, 'pool'))

    def chosen(self, fields: Sequence[str], no_labels: str) -> tuple[str, ...]:
        """The probes to run on data with these fields of ground truth.

        Args:
            fields: dense ground truth that the data have.
            no_labels: what the data lack, if they have no attributes to probe; '' if they have.

        Raises:
            DataError: if one was asked for that they do not allow.
            ValueError: if few-shot probes were asked for, and none that they repeat.
        """
        lacking = {name: f'no {field} beside the pictures' for name, field in FIELD_OF_PROBE.items()
                   if field not in fields}
        if no_labels:
            lacking |= dict.fromkeys(CLASS_PROBES, no_labels)
        if len(lacking) == len(FIELD_OF_PROBE) + len(CLASS_PROBES):
            lacking[FEW] = 'nothing that could be learnt'
        for name in self.probes or ():
            if name in lacking:
                raise DataError(f'probe {name}: the data have {lacking[name]}')
        found = tuple(name for name in self.probes or PROBES if name not in lacking)
        if FEW in found and not set(found) & {'linear', *FIELD_OF_PROBE}:
            raise ValueError(f'probe {FEW} repeats others with few pictures: also name one of linear, '
                             f'{", ".join(FIELD_OF_PROBE)}')
        return found
