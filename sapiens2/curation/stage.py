"""One step of curation: it looks at images, and adds columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar

from sapiens2.curation.arguments import Count, Least
from sapiens2.curation.columns import Column, Record


class Stage(ABC):
    """Adds ``outputs`` to each record, from ``inputs``. It decides nothing: filters do, so that limits can be moved.

    A subclass is registered in ``CURATION_STAGES``. It is built in every process that works, so heavy things are loaded
    in ``setup``.

    Args:
        batch_size: images that ``run`` is given at a time.
        num_cpus: processors that a process with this stage counts for, on a Ray cluster.
        num_gpus: graphics processors; stages that ask for the same are run by the same processes.
    """

    # Columns that must be there.
    inputs: ClassVar[Sequence[str]] = ()
    # Columns that it adds.
    outputs: ClassVar[dict[str, Column]] = {}

    def __init__(self, batch_size: Count = 32, num_cpus: Annotated[float, Least(0.01)] = 1.0,
                 num_gpus: Annotated[float, Least(0)] = 0.0) -> None:
        self.batch_size, self.num_cpus, self.num_gpus = batch_size, num_cpus, num_gpus

    @property
    def name(self) -> str:
        """By which reports call it."""
        return type(self).__name__

    def asked_for(self) -> Sequence[str]:
        """Columns that the user has named, so that it is worth a word if no image has them."""
        return ()

    def setup(self) -> None:
        """Load what is needed, once a process, before the first batch."""

    @abstractmethod
    def run(self, records: Sequence[Record]) -> None:
        """Add the columns to each record in place.

        A record that cannot be handled gets a text in 'error' and is in quarantine from then on. An error that is
        raised (ValueError, cv2.error, ArithmeticError) puts the one record that causes it in quarantine.
        """
