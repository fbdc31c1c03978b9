"""The networks of a server: each loaded once, when it is first needed, and used by one request at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.serve.deadline import Deadline
from sapiens2.serve.refusals import Refused
from sapiens2.serve.settings import NetworkSpec
from sapiens2.utils.tasks import TASKS


class Networks:
    """The networks of a server.

    Args:
        specs: those that visitors can choose.
        device, dtype: as of ``Sapiens2Inferencer``.
    """

    def __init__(self, specs: Sequence[NetworkSpec], device: str = 'auto', dtype: str = 'auto') -> None:
        self._specs = {(spec.task, spec.model): spec for spec in specs}
        self._device, self._dtype = device, dtype
        self._loaded: dict[NetworkSpec, Sapiens2Inferencer] = {}
        # One device computes for all: two networks at a time would share its memory and gain no time.
        self._lock = threading.Lock()
        self.deadline = Deadline()

    @property
    def tasks(self) -> list[str]:
        """The tasks that visitors can choose."""
        return [task for task in TASKS if self.models(task)]

    def models(self, task: str) -> list[str]:
        """Full names of the models that visitors can choose for ``task``."""
        return [model for known, model in self._specs if known == task]

    def spec(self, task: str, model: str) -> NetworkSpec:
        """The network with these names.

        Raises:
            Refused: if it is not served.
        """
        if (task, model) not in self._specs:
            raise Refused(f'The model {model} is not served for this task. Reload the page and choose again.')
        return self._specs[task, model]

    @contextmanager
    def borrowed(self, spec: NetworkSpec, seconds: float) -> Iterator[Sapiens2Inferencer]:
        """The inferencer of ``spec``, for the caller alone. From when it is ready it has ``seconds`` to finish.

        Raises:
            TookTooLong: out of the body, when the time is up.
        """
        with self._lock:
            if spec not in self._loaded:
                inferencer = Sapiens2Inferencer(spec.task, spec.model, spec.weights, self._device, self._dtype)
                for network in inferencer.networks.values():
                    self.deadline.watch(network.model)
                self._loaded[spec] = inferencer
            self.deadline.start(seconds)
            try:
                yield self._loaded[spec]
            finally:
                self.deadline.stop()
