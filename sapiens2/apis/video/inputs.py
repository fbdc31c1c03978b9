"""Which inputs are videos, and the names of their results."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple, Union

from sapiens2.utils.fetch import split_address
from sapiens2.utils.image_list import IMAGE_ENDINGS, free_stem, list_lines, walk_folder

VIDEO_ENDINGS = ('.mp4', '.m4v', '.mov', '.mkv', '.webm', '.avi', '.mpg', '.mpeg', '.ts', '.mts', '.m2ts', '.wmv',
                 '.flv', '.3gp', '.ogv')
# Addresses that are always films, and those that are if their path ends like one.
_STREAMS, _PAGES = ('rtsp', 'rtsps', 'rtmp', 'rtmps', 'srt', 'udp', 'rtp'), ('http', 'https')
_CAMERA = re.compile(r'camera:(\d+)|/dev/video(\d+)')


class VideoInput(NamedTuple):
    """A video that was asked for.

    Attributes:
        name: path, address, or ``camera:N``.
        stem: name of its results, '/' between folders.
    """

    name: str
    stem: str

    @property
    def camera(self) -> Union[int, None]:
        """Number of a camera; None for what is no camera."""
        match = _CAMERA.fullmatch(self.name)
        return int(match[1] or match[2]) if match else None

    @property
    def is_address(self) -> bool:
        return '://' in self.name

    @property
    def is_file(self) -> bool:
        return self.camera is None and not self.is_address

    @property
    def is_live(self) -> bool:
        """Whether it runs on while one looks away: it cannot be read again."""
        return not self.is_file and split_address(self.name).scheme not in _PAGES


def is_video(name: str) -> bool:
    """Whether a path, address or ``camera:N`` is a video by its name."""
    if '://' in name:
        parts = split_address(name)
        return parts.scheme in _STREAMS or (
            parts.scheme in _PAGES and parts.path.lower().endswith((*VIDEO_ENDINGS, '.m3u8', '.mpd')))
    return _CAMERA.fullmatch(name) is not None or name.lower().endswith(VIDEO_ENDINGS)


def video_input(name: Union[str, os.PathLike]) -> VideoInput:
    """One video, with the name that its results have if no other one has it."""
    return VideoInput(os.fspath(name), _stem(os.fspath(name)))


def split_videos(inputs: Sequence[str]) -> tuple[list[VideoInput], list[str]]:
    """The videos among ``inputs``, and the inputs that may hold images.

    Folders and globs are searched for videos, and stay among the others unless they hold nothing else. So are text
    files of inputs; in place of one that names videos stand the other inputs that it names.

    Raises:
        OSError: if a text file cannot be read.
        ValueError: if one with videos names another.
    """
    found: dict[str, PurePath] = {}
    others = []
    for item in _without_lists(inputs):
        if is_video(item) and not os.path.isdir(item):
            found.setdefault(item, PurePath(_stem(item)))
            continue
        videos, has_images = _inside(item)
        found.update((str(path), relative.with_suffix('')) for path, relative in videos if str(path) not in found)
        if has_images or not videos:
            others.append(item)
    taken: set[str] = set()
    return [VideoInput(name, free_stem(relative.as_posix(), PurePath(name).suffix, taken))
            for name, relative in found.items()], others


def _without_lists(inputs: Sequence[str]) -> Iterator[str]:
    """The inputs, in place of a text file with videos what it names."""
    for item in map(os.fspath, inputs):
        named = list(_named(Path(item))) if item.lower().endswith('.txt') and os.path.isfile(item) else []
        if any(is_video(name) or _inside(name)[0] for name in named):
            lists = [name for name in named if name.lower().endswith('.txt') and os.path.isfile(name)]
            if lists:
                raise ValueError(f'{item}: names {lists[0]}: a list cannot name another list. Give both as inputs')
            yield from named
        else:
            yield item


def _named(path: Path) -> Iterator[str]:
    """What a text file of inputs names; relative paths are below the current folder or that of the file."""
    for line in list_lines(path):
        if line and not line.startswith('#'):
            here = '://' in line or _CAMERA.fullmatch(line) or os.path.isabs(line) or os.path.exists(line)
            yield line if here else os.path.join(path.parent, line)


def _stem(name: str) -> str:
    if _CAMERA.fullmatch(name):
        return 'camera' + re.sub(r'\D', '', name)
    if '://' in name:
        parts = split_address(name)
        name = PurePath(parts.path).name or parts.hostname or parts.scheme
    stem = PurePath(name).stem
    return re.sub(r'[^\w.~ -]', '_', stem) or 'video'


def _inside(item: str) -> tuple[list[tuple[Path, PurePath]], bool]:
    """Videos in a folder or that a glob matches, each with its path below it; and whether there are images, too."""
    paths = list(_paths(item))
    videos = [(path, relative) for path, relative in paths if path.name.lower().endswith(VIDEO_ENDINGS)]
    return videos, any(path.name.lower().endswith(IMAGE_ENDINGS) for path, _ in paths)


def _paths(item: str) -> Iterator[tuple[Path, PurePath]]:
    if os.path.isdir(item):
        for place, names in walk_folder(item):
            yield from ((Path(place, name), Path(place, name).relative_to(item)) for name in names)
    elif glob.has_magic(item) and not os.path.exists(item):
        for match in sorted(glob.glob(item, recursive=True)):
            if os.path.isfile(match):
                yield Path(match), PurePath(Path(match).name)
