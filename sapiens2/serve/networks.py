"""The networks of a server: each loaded once, when it is first needed, and used by one request at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sapiens2.apis.inferencer import Sapiens2Inferencer
from sapiens2.export.formats import is_exported
from sapiens2.models.checkpoints.build import RANDOM, parameters_on_meta
from sapiens2.models.checkpoints.load import fitting_entries
from sapiens2.registry import MODELS, register_all
from sapiens2.serve.deadline import Deadline
from sapiens2.serve.refusals import Refused
from sapiens2.serve.settings import NetworkSpec
from sapiens2.utils.devices import pick_device, pick_dtype
from sapiens2.utils.task_models import task_config
from sapiens2.utils.tasks import TASKS


class Networks:
    """The networks of a server.

    Args:
        specs: those that visitors can choose.
        device, dtype, trust_exported: as of ``Sapiens2Inferencer``.

    Raises:
        ValueError: for an unknown device or dtype.
    """

    def __init__(self, specs: Sequence[NetworkSpec], device: str = 'auto', dtype: str = 'auto',
                 trust_exported: bool = False) -> None:
        pick_dtype(dtype, pick_device(device))
        self._specs = {(spec.task, spec.model): spec for spec in specs}
        self._device, self._dtype, self._trust_exported = device, dtype, trust_exported
        self._loaded: dict[NetworkSpec, Sapiens2Inferencer] = {}
        # One device computes for all: two networks at a time would share its memory and gain no time.
        self._lock = threading.Lock()
        self.deadline = Deadline()

    def check(self) -> None:
        """Look whether all weights are those of their networks, before a visitor meets it. Checkpoints are not read for
        that; exported networks are loaded.

        Raises:
            CheckpointError, ValueError, FileNotFoundError, ImportError: naming the file that is not.
        """
        register_all()
        for spec in self._specs.values():
            if is_exported(spec.weights):
                self._load(spec)
            elif spec.weights != RANDOM:
                with parameters_on_meta():
                    model = MODELS.build(task_config(spec.task, spec.model).model)
                fitting_entries(model, spec.weights)

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
            inferencer = self._load(spec)
            self.deadline.start(seconds)
            try:
                yield inferencer
            finally:
                self.deadline.stop()

    def _load(self, spec: NetworkSpec) -> Sapiens2Inferencer:
        if spec not in self._loaded:
            inferencer = Sapiens2Inferencer(spec.task, spec.model, spec.weights, self._device, self._dtype,
                                            trust_exported=self._trust_exported)
            for network in inferencer.networks.values():
                self.deadline.watch(network.model)
            self._loaded[spec] = inferencer
        return self._loaded[spec]
