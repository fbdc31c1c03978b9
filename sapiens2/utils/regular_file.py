"""Pipes, sockets and devices are not read: whoever opens one may wait without end."""

from __future__ import annotations

import errno
import os
import stat
from typing import Union

IRREGULAR = 'is no regular file but a pipe, a socket or a device'


def is_irregular(path: Union[str, os.PathLike]) -> bool:
    """Whether ``path`` leads to something that is neither a file nor a folder, and may never end."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # opening it says why
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_regular(path: Union[str, os.PathLike]) -> None:
    """Look whether ``path`` can be opened without waiting.

    Raises:
        OSError: naming it, if it is a pipe, a socket or a device.
    """
    if is_irregular(path):
        raise OSError(errno.EINVAL, IRREGULAR, os.fspath(path))
