"""Files that appear whole or not at all.

While it is written, a file is called ``.partial-HOST-PROCESS-THREAD`` with the ending of the file it is to become. One
that a killed process has left is removed by the next program of this project that writes to its folder.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import platform
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError


# Seconds without a change after which a partial file whose process is gone counts as left behind. Containers may share
# the name of a host and yet not see one another's processes.
STALE_SECONDS = 60
_PARTIAL = re.compile(r'\.partial-(?P<host>\w+)-(?P<process>\d+)-\d+(\.[^.]*)?')
# Of writing: the name is too long, has characters that the file system lacks, or is that of a folder or below a file.
_FAULTS_OF_NAMES = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.EEXIST)
# Folders that this process has looked through; once is enough.
_seen: set[str] = set()


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it becomes ``path`` when the block ends, and vanishes if it fails.

    The folder is created. The yielded name keeps the ending of ``path``, from which writers choose a format.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path.parent)
    # Names may be as long as the file system allows, so the temporary one is not made of them.
    partial = path.with_name(f'.partial-{_host()}-{os.getpid()}-{threading.get_ident()}{path.suffix}')
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        if error.filename is not None:
            raise
        # A full disk is met while writing, where the system does not say of which file.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    except SafetensorError as error:  # it has a kind of its own for faults of the file system
        found = re.search(r'\(os error (\d+)\)', str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


@functools.cache
def _host() -> str:
    """Name of this machine, fit for a file's name."""
    return re.sub(r'\W', '_', platform.node(), flags=re.ASCII)[:40] or 'unknown'


def _remove_stale(folder: Path) -> None:
    """Remove partial files of processes of this machine that are gone."""
    place = os.path.abspath(folder)
    if os.name != 'posix' or place in _seen:  # Windows has no harmless way to ask for a process
        return
    _seen.add(place)
    with os.scandir(place) as entries:
        found = [(entry, match) for entry in entries if (match := _PARTIAL.fullmatch(entry.name))]
    for entry, match in found:
        # What cannot be looked at or removed, or is gone by now, is no reason not to write.
        with contextlib.suppress(OSError):
            if match['host'] == _host() and time.time() - entry.stat().st_mtime > STALE_SECONDS \
                    and not is_running(int(match['process'])):
                os.unlink(entry.path)


def is_running(process: int) -> bool:
    """Whether there is a process of this number on this machine; POSIX alone has a harmless way to ask."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def unusable_name(name: str, error: OSError) -> str:
    """What to say of an image called ``name`` whose results cannot have their names.

    Raises:
        OSError: ``error`` itself if the fault is another, a full disk for instance, which the next image would meet.
    """
    if error.errno not in _FAULTS_OF_NAMES:
        raise error
    return f'{name}: its results cannot be written: {error}'


class FolderError(OSError):
    """A folder that results cannot be written to."""

    def __str__(self) -> str:
        return (f'{self.filename}: {self.strerror}, so no results can be written to it. Choose another folder for the '
                'results')


def check_folder(folder: str | Path) -> None:
    """Try whether files can be written to ``folder``, before the work whose results they are; nothing is left there.

    Raises:
        ValueError: for an empty name, which would mean the current folder.
        FolderError: naming ``folder``, if they cannot; it, or what is missing of it, cannot be made either then.
    """
    if not os.fspath(folder):
        raise ValueError('the name of the folder for the results is empty: name one, "." for the current folder')
    place = Path(folder).absolute()
    while not os.path.lexists(place):
        place = place.parent
    try:
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise FolderError(error.errno, error.strerror, str(folder)) from error
