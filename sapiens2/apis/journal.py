"""What an output folder already holds, and by which model and settings it was made, so that a run can go on.

The folder of each task, and that of features, has a file ``journal.jsonl``, a line for each finished image, written
when its files are complete.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from sapiens2.utils.digests import file_digest
from sapiens2.utils.regular_file import check_regular
from sapiens2.utils.visible_files import visible_files

JOURNAL = 'journal.jsonl'
# A file of weights is known by this many pieces of it, evenly spread, and its size.
_PIECES, _PIECE = 64, 4096


def content_id(path: str | Path) -> str:
    """A digest that tells files of weights apart without reading them whole: of their sizes and of samples of them."""
    path = Path(path)
    files = [file for file in visible_files(path, '**/*') if file.is_file()] if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        check_regular(file)
        size = file.stat().st_size
        digest.update(f'{file.name} {size} '.encode('utf-8', 'surrogateescape'))
        with file.open('rb') as stream:
            for piece in range(_PIECES):
                stream.seek(max(0, size - _PIECE) * piece // (_PIECES - 1))
                digest.update(stream.read(_PIECE))
    return digest.hexdigest()[:32]


class Journal:
    """The journal of one task in one output folder.

    A picture is known by its content. That it lies unchanged in the same place is enough to know it without reading it.

    Args:
        folder: of the task.
        settings: all that decides what is written, in JSON's types; None if nothing tells, as with random weights,
            whose results no other run makes again.
        resume: whether what it lists counts as finished.
    """

    def __init__(self, folder: Path, settings: Optional[Mapping[str, Any]], resume: bool = True) -> None:
        self.folder, self._path, self._resume = folder, folder / JOURNAL, resume
        self._lock = threading.Lock()
        text = json.dumps(settings, sort_keys=True)
        self.settings_id = secrets.token_hex(8) if settings is None else hashlib.sha256(text.encode()).hexdigest()[:16]
        self._entries: dict[str, dict[str, Any]] = {}
        known = set()
        content = self._path.read_bytes() if self._path.is_file() else b''
        for line in content.splitlines():
            try:
                entry = json.loads(line)
                if 'settings' in entry:
                    known.add(entry['id'])
                elif isinstance(entry['source'], dict) and isinstance(entry['files'], dict):
                    self._entries[entry['done']] = entry
            except (ValueError, KeyError, TypeError):
                continue  # a line that a killed process has left half written
        # A half line of a killed process ends here.
        self._begin = '' if not content or content.endswith(b'\n') else '\n'
        if self.settings_id not in known:
            self._begin += json.dumps({'id': self.settings_id, 'settings': settings}) + '\n'

    def finished(self, stem: str, source: Path) -> Optional[list[str]]:
        """The files of an image, if these settings have made them of the same source file, and all are as they were."""
        entry = self._entries.get(stem) if self._resume else None
        if entry is None or entry.get('id') != self.settings_id or not _is_same(entry['source'], source):
            return None
        files = entry['files']
        if any(_size(self.folder / name) != size for name, size in files.items()):
            return None
        return [str(self.folder / name) for name in files]

    def summary(self, stem: str) -> dict[str, Any]:
        """What was noted with the results of an image."""
        return self._entries.get(stem, {}).get('summary') or {}

    def is_of_another(self, stem: str, source: Union[Path, str]) -> bool:
        """Whether there are results called ``stem`` of another picture, which are not to be overwritten.

        A picture that has changed where it lies is the same, and so is one with the same content elsewhere.

        Args:
            source: a file, or the address of a picture.
        """
        entry = self._entries.get(stem) if self._resume else None
        return entry is not None and entry['source'].get('place') != _place(source) and any(
            (self.folder / name).exists() for name in entry['files']) and not _is_same(entry['source'], source)

    def refusal(self, stem: str, source: Union[Path, str], name: str) -> Optional[str]:
        """Why results called ``stem`` are not to be written, see ``is_of_another``; None if they are.

        Args:
            name: of the picture, for the text.
        """
        if not self.is_of_another(stem, source):
            return None
        return (f'{name}: {self.folder / stem}.* are results of another picture of this name, which would be '
                'overwritten. Choose another folder for the results, or say that they may be: --overwrite '
                '(resume=False)')

    def add(self, stem: str, source: Union[Path, str], files: Sequence[str],
            summary: Optional[Mapping[str, Any]] = None) -> None:
        """Note that the results of an image are complete.

        Args:
            summary: what a later run is to tell of them, in JSON's types.

        Raises:
            OSError: if the journal cannot be written.
        """
        entry = {'done': stem, 'id': self.settings_id, 'source': _mark(source), 'files': {
            Path(os.path.relpath(file, self.folder)).as_posix(): _size(Path(file)) for file in files},
            **({'summary': summary} if summary else {})}
        with self._lock:
            line = self._begin + json.dumps(entry) + '\n'
            # One write of a line; several processes may share the file.
            try:
                with self._path.open('ab') as stream:
                    stream.write(line.encode())
            except OSError as error:  # of a full disk the system does not say which file met it
                raise OSError(error.errno, error.strerror, str(self._path)) from error
            self._begin = ''


def _size(path: Path) -> Optional[int]:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _place(source: Union[Path, str]) -> str:
    """A digest of where a file or an address is, so that the journal tells nobody the folders of a machine."""
    text = source if isinstance(source, str) else os.path.realpath(source)
    return hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:16]


def _state(source: Path) -> Optional[list[int]]:
    """What changes when a file is written or replaced; the last even if its time is set back."""
    try:
        return [*(file_mark(source) or ()), source.stat().st_ctime_ns]
    except OSError:
        return None


def _content(source: Path) -> Optional[str]:
    """Read once for the journals of all tasks."""
    return _content_in(source, tuple(_state(source) or ()))


@functools.lru_cache(maxsize=64)
def _content_in(source: Path, state: tuple[int, ...]) -> Optional[str]:
    try:
        return file_digest(source)
    except OSError:
        return None


def _mark(source: Union[Path, str]) -> dict[str, Any]:
    """What a source is known by; an address by its place alone, since what it gives may change."""
    known = {'place': _place(source)}
    return known if isinstance(source, str) else {**known, 'state': _state(source), 'content': _content(source)}


def _is_same(mark: Mapping[str, Any], source: Union[Path, str]) -> bool:
    """Whether a file has the content that a mark was made of."""
    if isinstance(source, str) or None in (mark.get('state'), mark.get('content')):
        return False
    state = _state(source)
    if mark['state'] == state and mark.get('place') == _place(source):
        return True
    return state is not None and mark['state'][0] == state[0] and mark['content'] == _content(source)


def file_mark(source: Path) -> Optional[list[int]]:
    """What changes when a file does, in JSON's types; None if it cannot be looked at."""
    try:
        status = source.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]
