"""What goes wrong with a checkpoint: the file itself, or its fit to the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sapiens2.models.checkpoints.report import LoadReport


class CheckpointError(RuntimeError):
    """Base of all errors about checkpoints."""


class BadCheckpointFile(CheckpointError):
    """The file cannot be used.

    Attributes:
        path: the file.
        kind: what it is instead of a checkpoint, 'a truncated safetensors file' for instance.
    """

    def __init__(self, path: Path, kind: str, remedy: str) -> None:
        super().__init__(f'{path} is not a usable checkpoint, it is {kind}. {remedy}')
        self.path, self.kind = path, kind


class CheckpointMismatch(CheckpointError):
    """The checkpoint does not fit the model; ``report`` says in what."""

    def __init__(self, report: LoadReport, suggestion: str) -> None:
        super().__init__(f'{report.origin.path} does not fit the model.\n{report.table()}\n{suggestion}')
        self.report, self.suggestion = report, suggestion
