"""What the runner leaves to a strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Union

from torch import nn

from sapiens2.engine.fine_tuning import FineTuning

if TYPE_CHECKING:
    from sapiens2.engine.runner import Sapiens2Runner

Result = TypeVar('Result')


class Strategy(ABC):
    """Spreads a model over processes. The runner asks it wherever a model that is in parts differs from a whole one.

    What is not abstract does what is right where every process has the whole model.

    Attributes:
        checkpoint_name: of the file or folder that ``write`` makes, with the iteration in braces.
        all_write: every process has to call ``write``; otherwise the first one alone does.
        all_stop: processes can only stop at the same iteration, since each needs the others' parts.
    """

    checkpoint_name: ClassVar[str] = 'iter_{}.pth'
    all_write: ClassVar[bool] = False
    all_stop: ClassVar[bool] = False

    @abstractmethod
    def build(self, runner: Sapiens2Runner, config: Union[Mapping[str, Any], nn.Module]) -> nn.Module:
        """The model of a config, not yet spread."""

    @abstractmethod
    def wrap(self, runner: Sapiens2Runner, model: nn.Module) -> nn.Module:
        """The model on its device, spread over the processes; again after ``fine_tuning`` has changed it."""

    @abstractmethod
    def initialise(self, runner: Sapiens2Runner) -> None:
        """Give the model its initial values."""

    def check_fine_tuning(self, fine_tuning: FineTuning) -> None:
        """Raise ConfigError if this way of training a part of the model is not possible."""

    @abstractmethod
    def load(self, model: nn.Module, filename: Union[str, Path], strict: bool) -> None:
        """Fill the model from weights in any format; raises as ``load_checkpoint``."""

    def synchronise_gradients(self, model: nn.Module, wanted: bool) -> None:
        """Say before a batch whether its backward pass is the last one of an update."""

    @abstractmethod
    def write(self, runner: Sapiens2Runner, checkpoint: Mapping[str, Any], path: Path) -> None:
        """Write the state of a run, whole or not at all; it may still be under way afterwards, until ``wait``."""

    def wait(self) -> None:
        """Return when what ``write`` began is written; raises what went wrong."""

    def poll(self) -> None:
        """Raise what went wrong in writing, if that has ended; called once an iteration."""

    @abstractmethod
    def read(self, runner: Sapiens2Runner, filename: Union[str, Path]) -> Mapping[str, Any]:
        """What ``write`` was given, tensors spread as those of the model are; raises CheckpointError."""

    @abstractmethod
    def check(self, filename: Path) -> None:
        """Raise CheckpointError or OSError unless a run can go on from the checkpoint; the same in all processes."""

    @abstractmethod
    def compare(self, filename: Path) -> None:
        """Read a checkpoint in many files once and compare it with its checksums, before weights are taken from it; the
        same in all processes. Raises CheckpointError."""

    def agree(self, decide: Callable[[], Result]) -> Result:
        """``decide()``, the same in all processes where they have to agree."""
        return decide()

    def any(self, value: bool) -> bool:
        """Whether ``value`` is true in any process that has to agree with this one."""
        return value
