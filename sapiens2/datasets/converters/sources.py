"""Finding files in data sets that people unpack to slightly different places."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sapiens2.datasets.errors import DataError
from sapiens2.utils.image_list import list_lines

# Archives of the public sets hold a folder of their own name up to three times.
_DEPTH = 4


def find(root: Path, *relative: str, what: str) -> Path:
    """The one file or folder below ``root`` that ends in one of the paths ``relative``; case of names counts not.

    Raises:
        DataError: if there is none, or if there are several.
    """
    found = find_all(root, *relative)
    if not found:
        raise DataError(f'{root}: {what} is missing: looked for {" or ".join(relative)} there and down to {_DEPTH} '
                        'folders below. Give the folder that holds it')
    if len(found) > 1:
        raise DataError(f'{root}: {what} is there more than once: {", ".join(map(str, found[:3]))}. Give the folder '
                        'of one of them')
    return found[0]


def find_all(root: Path, *relative: str) -> list[Path]:
    """All files or folders below ``root`` that end in one of the paths ``relative``; links count once."""
    if not root.is_dir():
        raise DataError(f'{root}: is no folder; give the folder of the data set')
    wanted = {tuple(path.lower().split('/')) for path in relative}
    found: dict[Path, Path] = {}
    for place, folders, files in os.walk(root):
        here = Path(place)
        folders.sort()
        if len(here.relative_to(root).parts) >= _DEPTH:
            folders.clear()
        for name in (*folders, *files):
            parts = tuple(part.lower() for part in (here / name).parts)
            if any(parts[-len(path):] == path for path in wanted):
                found.setdefault((here / name).resolve(), here / name)
        # Folders of many thousand samples hold no further layout.
        folders[:] = [name for name in folders if (here / name).resolve() not in found]
    return list(found.values())


def read_names(path: Path) -> list[str]:
    """The lines of a list of samples, without blank ones.

    Raises:
        DataError: naming the file, if it is no text or empty.
    """
    try:
        names = list(filter(None, list_lines(path)))
    except OSError as error:
        raise DataError(f'{path}: cannot be read as a list of one name a line: {error}') from error
    if not names:
        raise DataError(f'{path}: the list is empty')
    return names


def files_by_stem(folder: Path, endings: Sequence[str] = ('.jpg', '.jpeg', '.png')) -> dict[str, Path]:
    """Name without ending -> path, sorted, of the pictures in ``folder``; hidden files are passed over.

    Raises:
        DataError: if there is none.
    """
    names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith('.'))
    files = {os.path.splitext(name)[0]: folder / name for name in names if name.lower().endswith(tuple(endings))}
    if not files:
        raise DataError(f'{folder}: holds no {" ".join(endings)} file')
    return files


def require(path: Path, why: str) -> Path:
    """``path``, if it is a file.

    Raises:
        DataError: naming it otherwise.
    """
    if not path.is_file():
        raise DataError(f'{path}: is missing; {why}')
    return path
