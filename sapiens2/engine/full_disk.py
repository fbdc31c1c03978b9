"""What is left to do when a run ends because something could not be written."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mmengine.visualization import Visualizer


@contextmanager
def error_comes_last(visualizer: Visualizer) -> Iterator[None]:
    """Close what writes figures when the block ends with an OSError.

    TensorBoard writes in a thread. At the end of the program it would try again, and its traceback, of the same full
    disk, would be the last that people see, below the message that helps them.
    """
    try:
        yield
    except OSError:
        shown = threading.excepthook
        threading.excepthook = lambda _: None
        try:
            with contextlib.suppress(OSError):
                visualizer.close()
        finally:
            threading.excepthook = shown
        raise
