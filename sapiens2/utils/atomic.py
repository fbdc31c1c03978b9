"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
    except OSError as error:
        if error.filename is not None:
            raise
        # A full disk is met while writing, where the system does not say of which file.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def check_folder(folder: str | Path) -> None:
    """Try whether files can be written to ``folder``, before the work whose results they are; nothing is left there.

    Raises:
        OSError: naming ``folder``, if they cannot; it, or what is missing of it, cannot be made either then.
    """
    place = Path(folder).absolute()
    while not os.path.lexists(place):
        place = place.parent
    try:
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise OSError(error.errno, f'{error.strerror}, so no results can be written to', str(folder)) from error
