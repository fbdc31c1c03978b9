"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it becomes ``path`` when the block ends, and vanishes if it fails.

    The folder is created. The yielded name keeps the ending of ``path``, from which writers choose a format.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Names may be as long as the file system allows, so the temporary one is not made of them.
    partial = path.with_name(f'.partial-{os.getpid()}-{threading.get_ident()}{path.suffix}')
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
