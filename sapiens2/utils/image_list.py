"""Find the picture files that inputs name, and give each a name for its results that no other one has."""

from __future__ import annotations

import glob
import itertools
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple, Optional, Union

from sapiens2.utils.suggest import nearest

# HEIC is listed so that it is named as unreadable, not passed over in silence.
IMAGE_ENDINGS = (
    '.jpg', '.jpeg', '.jpe', '.jfif', '.png', '.bmp', '.dib', '.tif', '.tiff', '.webp', '.gif', '.ppm', '.pgm', '.pnm',
    '.jp2', '.j2k', '.avif', '.heic', '.heif')


class ImageFile(NamedTuple):
    """A file that an input named."""

    path: Path
    relative: PurePath  # below the folder that was given; the bare name of a single file


def list_images(inputs: Sequence[Union[str, os.PathLike]], recursive: bool = True,
                missing: Optional[list[str]] = None) -> list[ImageFile]:
    """List the pictures of files, folders, globs and text files of paths, in order, each file once.

    A folder gives its files with a picture's ending in any case, hidden ones left out. A file that is named
    itself is taken whatever its ending. A ``.txt`` holds one input a line (relative to the current folder or to its
    own; blank lines and lines that start with # are passed over).

    Args:
        recursive: whether sub-folders are searched, through symbolic links too.
        missing: takes a line for each input that matches nothing, with the nearest names there are.

    Raises:
        FileNotFoundError: with these lines, if no list is given to take them.
        ValueError: for an empty name, which would mean the current folder.
    """
    found: dict[str, ImageFile] = {}
    lines: list[str] = [] if missing is None else missing
    if not all(os.fspath(item) for item in inputs):
        raise ValueError('an input has an empty name: name a picture or a folder, "." for the current one')
    for item in inputs:
        for file in _expand(os.fspath(item), recursive, lines):
            found.setdefault(os.path.abspath(file.path), file)
    if lines and missing is None:
        raise FileNotFoundError('\n'.join(lines))
    return list(found.values())


def _expand(item: str, recursive: bool, missing: list[str]) -> Iterator[ImageFile]:
    """The pictures of one input; what is wrong with it is added to ``missing``."""
    path = Path(item)
    if '://' in item:
        missing.append(f'{item}: an address, not a file; download it first')
    elif path.is_dir():
        yield from _expand_folder(path, recursive, missing)
    elif path.suffix.lower() == '.txt' and path.is_file():
        yield from _expand_list(path, recursive, missing)
    elif path.exists():
        yield ImageFile(path, PurePath(path.name))
    elif glob.has_magic(item):
        matches = [Path(match) for match in sorted(glob.glob(item, recursive=True))]
        files = [match for match in matches if match.is_file() and _is_image(match.name)]
        if not files:
            missing.append(f'{item}: no picture matches')
        root = _fixed_part(item)
        yield from (ImageFile(file, file.relative_to(root)) for file in files)
    else:
        missing.append(describe_missing(path))


def walk_folder(folder: Union[str, os.PathLike], recursive: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Each folder from ``folder`` down, with the names of its files, both in order; hidden ones are left out.

    Symbolic links are followed, except one to a folder above itself, which would be walked for ever.
    """
    above: dict[str, frozenset[str]] = {os.fspath(folder): frozenset()}
    for place, sub_folders, names in os.walk(folder, followlinks=True):
        real, parents = os.path.realpath(place), above.pop(place)
        sub_folders[:] = [] if real in parents or not recursive else sorted(_visible(sub_folders))
        above.update((os.path.join(place, name), parents | {real}) for name in sub_folders)
        if real not in parents:
            yield place, sorted(_visible(names))


def _visible(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.startswith('.')]


def _expand_folder(folder: Path, recursive: bool, missing: list[str]) -> Iterator[ImageFile]:
    count = 0
    for place, names in walk_folder(folder, recursive):
        for name in filter(_is_image, names):
            count += 1
            path = Path(place, name)
            yield ImageFile(path, path.relative_to(folder))
    if not count:
        missing.append(f'{folder}: no picture in this folder (looked for {" ".join(IMAGE_ENDINGS)})')


def _expand_list(path: Path, recursive: bool, missing: list[str]) -> Iterator[ImageFile]:
    entries = [(number, line) for number, line in enumerate(list_lines(path), 1) if line and not line.startswith('#')]
    if not entries:
        missing.append(f'{path}: the list names no file')
    for number, entry in entries:
        wrong: list[str] = []
        place = entry if os.path.exists(entry) or os.path.isabs(entry) else os.path.join(path.parent, entry)
        if place.lower().endswith('.txt'):
            wrong.append(f'{entry}: a list cannot name another list')
        else:
            yield from _expand(place, recursive, wrong)
        missing.extend(f'{path}, line {number}: {text}' for text in wrong)


def list_lines(path: Path) -> list[str]:
    """The lines of a text file of names, without the blanks round them.

    Only a line feed ends a line: a name may hold the separators that Unicode knows besides. Names of files are bytes;
    those that are no UTF-8 are kept as Python keeps them.

    Raises:
        OSError: if the file cannot be read, or holds NUL characters, as UTF-16 does.
    """
    text = path.read_text(encoding='utf-8-sig', errors='surrogateescape')
    if '\0' in text:
        raise OSError(f'{path}: it is no text in UTF-8')
    return [line.strip(' \t\r') for line in text.split('\n')]


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_ENDINGS) and not name.startswith('.')


def _fixed_part(pattern: str) -> Path:
    """The folder of a glob above its first wildcard."""
    fixed: list[str] = []
    for part in Path(pattern).parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def describe_missing(path: Path) -> str:
    """Say that ``path`` does not exist, how far it does, and which names there are near."""
    parent, name = path.parent, path.name
    while not parent.is_dir() and parent != parent.parent:
        parent, name = parent.parent, parent.name
    text = f'{path}: no such file or folder'
    close = nearest(name, os.listdir(parent)) if parent.is_dir() else []
    if close:
        text += '. Did you mean ' + ' or '.join(repr(str(parent / other)) for other in close) + '?'
    return text


def output_stems(files: Sequence[ImageFile]) -> list[str]:
    """A name for the results of each file, '/' between folders: its relative path without the ending.

    Dots inside a name stay. Files whose names would be equal keep their ending, and where that does not tell them
    apart, the folders above. Names that differ only in case count as equal, as on some file systems they are.
    """
    marks = _twin_marks(files)
    levels = [0] * len(files)
    while True:
        stems = [_stem(file, level) + mark for file, level, mark in zip(files, levels, marks)]
        clashes = _equal(stems)
        if not clashes:
            return stems
        for group in clashes:
            # The least qualified move first: 'a.jpg.png' gives way to 'a.jpg', which already carries its ending.
            lowest = min(levels[index] for index in group)
            for index in group:
                levels[index] += levels[index] == lowest


def free_stem(stem: str, ending: str, taken: set[str]) -> str:
    """``stem``, or with the ending of its file, or with a number, so that it is not in ``taken``, which takes it."""
    numbered = (f'{stem}~{number}' for number in itertools.count(2))
    free = next(name for name in itertools.chain((stem, stem + ending), numbered) if _key(name) not in taken)
    taken.add(_key(free))
    return free


def _key(name: str) -> str:
    """Equal for names that differ in case or Unicode composition at most."""
    return unicodedata.normalize('NFC', name).casefold()


def _equal(names: Sequence[str]) -> list[list[int]]:
    """Groups of the indices of two or more names that differ in case or Unicode composition at most."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        groups[_key(name)].append(index)
    return [group for group in groups.values() if len(group) > 1]


def _twin_marks(files: Sequence[ImageFile]) -> list[str]:
    """An ending for the second and later of files whose whole paths differ in case only."""
    marks = [''] * len(files)
    for group in _equal([str(file.path.absolute()) for file in files]):
        for number, index in enumerate(group[1:], 2):
            marks[index] = f'~{number}'
    return marks


def _stem(file: ImageFile, level: int) -> str:
    """Level 0 drops the ending, 1 keeps it, each one more puts another folder in front."""
    if level == 0:
        return (file.relative.with_suffix('') if _is_image(file.relative.name) else file.relative).as_posix()
    path = file.path.absolute()
    parts = (path.drive.strip(':\\/'), *path.parts[1:]) if path.drive else path.parts[1:]
    return '/'.join(parts[-(len(file.relative.parts) + level - 1):])
