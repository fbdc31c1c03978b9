"""The table of GPUs: ``gpus.yml`` and tables of users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Optional

import yaml

from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError, unknown_name

TABLE = Path(__file__).with_name('gpus.yml')
GIB = 2**30


@dataclass(frozen=True)
class Gpu:
    """What a plan has to know of a GPU.

    Attributes:
        memory: that a program can allocate, GiB.
        half, full: peaks of dense products of 16-bit and 32-bit numbers, TFLOP/s.
        bandwidth: of its memory, GB/s.
        link: to the other GPUs of a node, GB/s in each direction.
        network: to other nodes, GB/s in each direction.
        source: where the figures are from.
    """

    memory: float
    half: float
    full: float
    bandwidth: float
    link: float
    network: float
    source: str


def load_gpus(extra: Optional[Path] = None) -> dict[str, Gpu]:
    """GPUs by name; those of ``extra``, a file like ``gpus.yml``, take the place of others of that name.

    Raises:
        ConfigError: if the file cannot be read, or an entry lacks a figure or has an unknown one.
    """
    tables = [_read(TABLE), _read(extra) if extra else {}]
    return {name: gpu for table in tables for name, gpu in table.items()}


def find_gpu(name: str, extra: Optional[Path] = None) -> Gpu:
    """The GPU of a name, in letters of either case; its beginning is enough where one GPU alone begins like that.

    Raises:
        UnknownNameError: with the nearest names.
    """
    known = load_gpus(extra)
    wanted = name.casefold()
    found = [gpu for gpu in known if gpu.casefold() == wanted] \
        or [gpu for gpu in known if gpu.casefold().startswith(wanted)]
    if len(found) != 1:
        raise UnknownNameError('--gpu: ' + unknown_name(name, known, 'GPU') + ' Others: --gpus FILE, in the form of '
                               f'{TABLE}.')
    return known[found[0]]


def _read(path: Path) -> dict[str, Gpu]:
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ConfigError(f'--gpus: {path} cannot be read: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f'--gpus: {path} is no YAML file: {error}') from error
    if not isinstance(content, Mapping) or not isinstance(content.get('gpus'), Mapping):
        raise ConfigError(f"--gpus: {path} has no entry 'gpus' with names and figures, as {TABLE} has")
    return {str(name): _gpu(str(name), entry, path) for name, entry in content['gpus'].items()}


def _gpu(name: str, entry: Any, path: Path) -> Gpu:
    known = [field.name for field in fields(Gpu)]
    entry = entry if isinstance(entry, Mapping) else {}
    for key in entry:
        if key not in known:
            raise UnknownNameError(f'--gpus: {path}, {name}: ' + unknown_name(key, known, 'figure'))
    missing = [key for key in known if key not in entry]
    if missing:
        raise ConfigError(f'--gpus: {path}, {name} lacks {", ".join(missing)}')
    for key in known[:-1]:
        if not isinstance(entry[key], (int, float)) or entry[key] <= 0:
            raise ConfigError(f'--gpus: {path}, {name}: {key} must be a number above 0, got {entry[key]!r}')
    return Gpu(**entry)
