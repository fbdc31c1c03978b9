"""The folder of what is computed or fetched once for a user, and of use to all later runs."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = 'SAPIENS2_CACHE'
_REMEDY = f'Name a folder that you can write to: {VARIABLE}=/path/to/folder'


class UserCacheError(OSError):
    """There is no folder for the cache, or it cannot be made."""


def user_cache() -> Path:
    """``$SAPIENS2_CACHE``, by default ``$XDG_CACHE_HOME/sapiens2`` or ``~/.cache/sapiens2``; empty variables count as
    not set. The folder need not exist yet.

    Raises:
        UserCacheError: for a user without a home folder, as in some containers.
    """
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    if os.environ.get('XDG_CACHE_HOME'):
        return Path(os.environ['XDG_CACHE_HOME'], 'sapiens2')
    try:
        return Path.home() / '.cache' / 'sapiens2'
    except RuntimeError as error:
        raise UserCacheError(f'this user has no home folder, in which files would be kept for later runs. {_REMEDY}'
                             ) from error


def make_user_cache() -> Path:
    """``user_cache()``, made where it is missing.

    Raises:
        UserCacheError: if it cannot be made or written to.
    """
    folder = user_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserCacheError(f'{folder}: {error.strerror}, so nothing can be kept there for later runs. {_REMEDY}'
                             ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserCacheError(f'{folder}: not writable, so nothing can be kept there for later runs. {_REMEDY}')
    return folder
