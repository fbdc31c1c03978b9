"""One training run at a time in a work directory: two would write over each other's checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional, Union

from filelock import FileLock, Timeout
from mmengine.dist import broadcast_object_list, is_main_process

from sapiens2.utils.config import ConfigError

LOCK = '.training.lock'
# So long the lock of a run that was killed may be held on by processes of its data loader, which have yet to notice.
WAIT_SECONDS = 15


@contextmanager
def only_run_in(work_dir: Union[str, Path], logger: logging.Logger) -> Iterator[None]:
    """Hold the lock of ``work_dir`` during the block; all processes of a run call this, the first one holds it.

    The system gives the lock back when the process ends, however it ends. Where the file system has no locks, a warning
    says so and the run goes on.

    Raises:
        ConfigError: in all processes, if another run holds it.
    """
    lock, message = None, [None]
    if is_main_process():
        try:
            lock = _acquired(Path(work_dir, LOCK), logger)
        except Timeout:
            message[0] = (f'{work_dir}: another training run is writing to this folder. End it or wait for it, or give '
                          f'this run a folder of its own with --work-dir. If there is no other, remove '
                          f'{Path(work_dir, LOCK)}')
    broadcast_object_list(message)
    if message[0] is not None:
        raise ConfigError(message[0])
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _acquired(path: Path, logger: logging.Logger) -> Optional[FileLock]:
    """The lock, held; None where there can be none. Raises Timeout."""
    # A file in place of a lock would outlive a run that was killed.
    lock = FileLock(path, fallback_to_soft=False)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.info(f'Another run is writing to {path.parent}: waiting up to {WAIT_SECONDS} s for it to end.')
            lock.acquire(timeout=WAIT_SECONDS)
    except Timeout:
        raise
    except (OSError, NotImplementedError) as error:
        logger.warning(f'{path} cannot be locked ({getattr(error, "strerror", None) or error}), so nothing keeps '
                       'another run from writing to this folder at the same time.')
        return None
    return lock
