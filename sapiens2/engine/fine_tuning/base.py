"""What ways of training a part of a model have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn


class FineTuning(ABC):
    """Prepares a model of which not everything is trained.

    The model has its initial or loaded weights when ``prepare`` is called, and no optimizer yet.

    Attributes:
        adds_parameters: whether ``prepare`` adds some, rather than only freezing others.
    """

    adds_parameters: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, model: nn.Module) -> None:
        """Freeze, or add, parameters of ``model``, an estimator with ``backbone`` and ``decode_head``."""

    def description(self) -> dict[str, Any]:
        """Plain values that say which parameters are trained: a run can only be resumed with the same ones."""
        return {'type': type(self).__name__}

    def weights_for_use(self, model: nn.Module) -> dict[str, Tensor]:
        """The state dict of the model as ``prepare`` found it, with all that was trained in it."""
        return dict(model.state_dict())
