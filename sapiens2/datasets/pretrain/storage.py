"""Files here or elsewhere: a path, or an address that fsspec knows (https, s3, gs, hf and so on)."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Optional

from filelock import FileLock

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.regular_file import check_regular
from sapiens2.utils.user_cache import user_cache

_BRACES = re.compile(r'\{([^{}]*)\}')
_RANGE = re.compile(r'(\d+)\.\.(\d+)')
# What stores call the version of a file; the first there is tells whether it has changed.
_VERSIONS = ('ETag', 'etag', 'md5', 'mtime', 'LastModified', 'last_modified', 'updated', 'created')
_LOCKS = 64


def is_remote(path: str) -> bool:
    """Whether ``path`` is an address."""
    return '://' in path


def expand_braces(pattern: str) -> Iterator[str]:
    """``a-{00..12}.tar`` and ``{x,y}.tar`` as a shell writes them out; numbers keep their leading zeros."""
    found = _BRACES.search(pattern)
    if not found:
        yield pattern
        return
    numbers = _RANGE.fullmatch(found[1])
    if numbers:
        first, last = int(numbers[1]), int(numbers[2])
        step = 1 if last >= first else -1
        parts = [f'{number:0{len(numbers[1])}d}' for number in range(first, last + step, step)]
    else:
        parts = found[1].split(',')
    for part in parts:
        yield from expand_braces(pattern[:found.start()] + part + pattern[found.end():])


class Storage:
    """Reads files at any place; remote ones are kept in a folder of limited size.

    Args:
        cache_dir: that folder, None for ``files`` in the user's cache; processes, also of several runs, may share it.
        cache_bytes: of all files in it, those just being fetched aside; the ones not used for longest go first. 0
            keeps none and reads only the parts of remote files that are asked for, each with a request of its own.
    """

    def __init__(self, cache_dir: Optional[str] = None, cache_bytes: int = 0) -> None:
        self._cache_dir = cache_dir
        self.cache_bytes = cache_bytes

    @property
    def cache_dir(self) -> Path:
        """The folder; it need not exist. Asked for when it is needed, as a user may have none."""
        return Path(self._cache_dir).expanduser() if self._cache_dir else user_cache() / 'files'

    def expand(self, root: str, patterns: Sequence[str]) -> list[str]:
        """Paths and addresses that ``patterns``, relative to ``root``, name with braces and wildcards; in order, each
        once, however often and in whatever way it is named.

        Raises:
            DataError: if a pattern with a wildcard matches nothing.
        """
        found: dict[str, str] = {}
        for pattern in patterns:
            for item in expand_braces(pattern):
                place = item if is_remote(item) or os.path.isabs(item) else f'{root.rstrip("/")}/{item}'
                for match in self._matches(place) if glob.has_magic(item) else [place]:
                    found.setdefault(match if is_remote(match) else os.path.abspath(match), match)
        return list(found.values())

    def _matches(self, place: str) -> list[str]:
        if is_remote(place):
            system, path = _file_system(place)
            # Without hidden files, as below.
            matches = sorted(system.unstrip_protocol(match) for match in system.glob(path)
                             if not os.path.basename(match).startswith('.'))
        else:
            # Only what follows the root is a pattern, but a root with wildcards in its name is seldom meant.
            matches = sorted(glob.glob(place, recursive=True))
        if not matches:
            raise DataError(Fault(Kind.EMPTY, place, 'no file matches', 'files',
                                  'check data_root and files of the data set'))
        return matches

    def stamp(self, path: str) -> dict[str, Any]:
        """Size, bytes, and version of a file: equal as long as the file is.

        Raises:
            DataError: if there is no such file.
        """
        try:
            if not is_remote(path):
                status = os.stat(path)
                return {'size': status.st_size, 'version': str(status.st_mtime_ns)}
            system, inner = _file_system(path)
            info = system.info(inner)
        except OSError as error:
            raise _cannot_read(path, error) from error
        if info.get('size') is None:
            raise DataError(Fault(Kind.UNREADABLE, path, 'its server does not say how long it is', 'files',
                                  'copy it to a disk or another store'))
        return {'size': info['size'], 'version': str(next((info[key] for key in _VERSIONS if info.get(key)), ''))}

    def open(self, path: str, stamp: Mapping[str, Any], whole: bool = False) -> BinaryIO:
        """A file to seek and read in.

        Args:
            stamp: its ``stamp``.
            whole: whether it will be read from end to end, which decides how much of a remote file that is not kept is
                fetched at a time.

        Raises:
            DataError: if it cannot be opened or fetched.
        """
        try:
            if not is_remote(path):
                check_regular(path)
                return open(path, 'rb')
            if self.cache_bytes:
                return self._open_kept(path, stamp)
            system, inner = _file_system(path)
            return system.open(inner, 'rb', cache_type='readahead' if whole else 'none')
        except OSError as error:
            raise _cannot_read(path, error) from error

    def _open_kept(self, path: str, stamp: Mapping[str, Any]) -> BinaryIO:
        if stamp['size'] > self.cache_bytes:
            raise DataError(Fault(Kind.OTHER, path, f'its {stamp["size"]:,} bytes are more than cache_gb allows',
                                  'files', 'raise cache_gb, or set it to 0 to keep nothing'))
        mark = hashlib.sha1(json.dumps([path, dict(stamp)], sort_keys=True).encode()).hexdigest()
        place = self.cache_dir / f'{mark[:20]}-{os.path.basename(path)[-80:]}'
        while True:
            # Another process may remove it before it is open.
            with contextlib.suppress(FileNotFoundError):
                file = open(place, 'rb')
                os.utime(place)
                return file
            self.cache_dir.mkdir(parents=True, exist_ok=True)
            with FileLock(self.cache_dir / f'.lock-{int(mark, 16) % _LOCKS}'):
                if not place.exists():
                    self._fetch(path, stamp, place)

    def _fetch(self, path: str, stamp: Mapping[str, Any], place: Path) -> None:
        self._make_room(stamp['size'])
        system, inner = _file_system(path)
        with atomic_path(place) as partial:
            system.get_file(inner, os.fspath(partial))
            size = partial.stat().st_size
            if size != stamp['size']:
                raise DataError(Fault(Kind.UNREADABLE, path, f'{size:,} of {stamp["size"]:,} bytes arrived', 'files',
                                      'start again'))
        # Several that were fetched at once have each found room.
        self._make_room(0)

    def _make_room(self, size: int) -> None:
        with FileLock(self.cache_dir / '.lock-room'):
            kept = []
            for entry in os.scandir(self.cache_dir):
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_file() and not entry.name.startswith('.'):
                        kept.append((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path))
            excess = sum(length for _, length, _ in kept) + size - self.cache_bytes
            for _, length, path in sorted(kept):
                if excess <= 0:
                    break
                # One that is open elsewhere stays readable there; where a system forbids its removal, it stays.
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    os.unlink(path)
                    excess -= length


def _file_system(path: str) -> tuple[Any, str]:
    """The file system of an address, that of this process, and the path in it."""
    try:
        import fsspec
        return fsspec.core.url_to_fs(path)
    except ImportError as error:
        raise ImportError(f'{path}: reading it needs another package: {error}; pip install "sapiens2[remote]", and '
                          's3fs for s3://, gcsfs for gs://, huggingface_hub for hf://') from error


def _cannot_read(path: str, error: OSError) -> DataError:
    return DataError(Fault(Kind.UNREADABLE, path, f'cannot be opened: {error.strerror or error}', 'files',
                           'check data_root and files of the data set'))
