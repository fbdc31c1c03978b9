"""Data sets whose samples and faults come from one walk over their annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Union

from sapiens2.datasets.base import BaseHumanDataset
from sapiens2.datasets.errors import Fault, raise_fault

Found = Union[Fault, dict[str, Any]]


class WalkedDataset(BaseHumanDataset):
    """A data set that says what is wrong with its annotations while it lists its samples.

    Attributes:
        report: called with each fault. That of a class raises it unless it is a warning; ``data check`` puts a list's
            ``append`` in its place, and the walk goes on past what is wrong.
    """

    report: Callable[[Fault], None] = staticmethod(raise_fault)

    def walk(self) -> Iterator[Found]:
        """Faults, and an entry of the data list for each sample that is sound."""
        raise NotImplementedError

    def load_data_list(self) -> list[dict[str, Any]]:
        """The samples; faults go to ``report``."""
        samples: list[dict[str, Any]] = []
        for found in self.walk():
            if isinstance(found, Fault):
                self.report(found)
            else:
                samples.append(found)
        return samples
