"""Progress bars that look alike in all commands."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn)


def progress_bar(console: Console, *more: ProgressColumn, transient: bool = False) -> Progress:
    """What is done of how much, for how long, and how long it will take; then ``more`` columns.

    Args:
        console: where it is shown.
        transient: whether it vanishes at the end, and is left out where lines cannot be taken back, as in a file.
    """
    return Progress(TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    TextColumn('left'), TimeRemainingColumn(), *more, console=console,
                    transient=transient, disable=transient and not console.is_terminal)
