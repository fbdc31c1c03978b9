"""What the converters of public data sets share: items to convert, files that appear whole, splits."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import write_image
from sapiens2.utils.suggest import UnknownNameError, check_names, unknown_name


class Item(NamedTuple):
    """What is converted at once: one photograph, or one scan with all its views.

    Attributes:
        split: where its samples go.
        names: of its samples, below the split and without ending; ``/`` between folders.
        sources: what the converter needs to know of it, which must be picklable.
    """

    split: str
    names: tuple[str, ...]
    sources: Any


@dataclass(frozen=True)
class Sample:
    """The files of one sample.

    Attributes:
        files: kind of file ('images', 'labels', ...) -> path.
        link: whether files that are taken over unchanged are hard links.
    """

    files: Mapping[str, Path]
    link: bool

    def complete(self) -> bool:
        """Whether all files are there; each appears whole or not at all."""
        return all(path.exists() for path in self.files.values())

    def take(self, kind: str, source: Path) -> None:
        """Copy or link ``source`` unchanged."""
        with atomic_path(self.files[kind]) as partial:
            if self.link:
                try:
                    os.link(source, partial)
                except OSError as error:
                    raise OSError(error.errno, f'{error.strerror}: cannot be hard-linked to {self.files[kind]}; leave '
                                  'out --link to copy', str(source)) from error
            else:
                shutil.copyfile(source, partial)

    def picture(self, kind: str, pixels: np.ndarray) -> None:
        """Write (H, W), or (H, W, 3) BGR, uint8."""
        write_image(self.files[kind], pixels)

    def array(self, kind: str, values: np.ndarray) -> None:
        """Write an array as compressed npz: holes and backgrounds take no room."""
        with atomic_path(self.files[kind]) as partial:
            np.savez_compressed(partial, values)

    def camera(self, intrinsics: np.ndarray) -> None:
        """Write K, (3, 3), pixels."""
        with atomic_path(self.files['cameras']) as partial:
            partial.write_text(json.dumps({'K': np.asarray(intrinsics, float).tolist()}), encoding='utf-8')


class Converter(ABC):
    """From a data set as its authors publish it to folders that ``tools/train.py`` reads.

    Args:
        source: folder of the data set; nothing in it is changed.
        target: folder to write to.
        link: hard-link the files that are taken over unchanged, rather than copying them.
        options: values of ``OPTIONS`` that differ from the defaults.

    Raises:
        UnknownNameError: for an option that the set does not have.
    """

    # What it is called on the command line and in texts.
    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    # Names of the parts, in the order in which they are converted.
    SPLITS: ClassVar[tuple[str, ...]] = ('train', 'val')
    # Kind of file -> ending. The image comes last: where it is, the rest is.
    FILES: ClassVar[Mapping[str, str]]
    # Option -> default.
    OPTIONS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, source: Path, target: Path, link: bool = False, **options: Any) -> None:
        check_names(options, self.OPTIONS, self.NAME)
        self.source, self.target, self.link = Path(source), Path(target), link
        self.options = {**self.OPTIONS, **options}

    @abstractmethod
    def items(self, split: str) -> Iterator[Item]:
        """What there is to convert in ``split``.

        Raises:
            DataError: if the source does not have the expected layout.
        """

    @abstractmethod
    def convert(self, item: Item) -> list[str]:
        """Write the samples of ``item`` that are not there yet; a line for each that had to be left out.

        Raises:
            DataError, ImageReadError: if the whole item had to be left out, naming file and reason.
        """

    @abstractmethod
    def commands(self) -> list[str]:
        """The commands that train on the result, the most useful one last."""

    def finish(self, split: str) -> list[str]:
        """What is left to do when all items of ``split`` are converted; a line for each problem."""
        return []

    def place(self, split: str, kind: str) -> Path:
        """The folder of one kind of file."""
        return self.target / split / kind

    def sample(self, item: Item, name: str) -> Sample:
        """The files of one sample of ``item``."""
        return Sample({kind: self.place(item.split, kind) / (name + ending) for kind, ending in self.FILES.items()},
                      self.link)

    def is_done(self, item: Item) -> bool:
        """Whether all samples of ``item`` are there."""
        return all(self.sample(item, name).complete() for name in item.names)

    def train_command(self, config: str, *options: str) -> str:
        """The command that trains on the result with a config below ``configs/``."""
        words = ['python', 'tools/train.py', f'configs/{config}', '--cfg-options', f'data_root={self.target}', *options]
        return shlex.join(words)


def held_out(group: str, share: float) -> bool:
    """Whether all samples of ``group`` are for validation: ``share`` of the groups, the same on every machine."""
    return number_of(group) < share * 2**64


def number_of(text: str) -> int:
    """A number from 0 to 2**64 that ``text`` gives by chance, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'big')


def splits_of(converter: type[Converter], name: str) -> Sequence[str]:
    """The splits that ``--split name`` asks for.

    Raises:
        UnknownNameError: if the set has no such split.
    """
    if name != 'all' and name not in converter.SPLITS:
        raise UnknownNameError(f'{converter.NAME}: ' + unknown_name(name, (*converter.SPLITS, 'all'), 'split'))
    return converter.SPLITS if name == 'all' else (name,)
