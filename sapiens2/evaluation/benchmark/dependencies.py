"""What the figures of a row depend on; a row that is done stays done as long as none of it changes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from sapiens2.evaluation.benchmark.machine import hardware, versions
from sapiens2.evaluation.benchmark.spec import Row
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.utils.digests import add_file
from sapiens2.utils.image_list import walk_folder


def depends_on(row: Row, cfg: Config) -> dict[str, str]:
    """Digests of all that decides the figures of ``row``, by what it is.

    Args:
        cfg: its config with its options.
    """
    found = {'row': digest_of(json.dumps(dataclasses.asdict(row), sort_keys=True, default=str)),
             'config': digest_of(repr(cfg.to_dict())),
             'data': digest_of(*(mark for path in data_paths(cfg.test_dataloader.dataset) for mark in _marks(path)))}
    if row.predictions is not None:
        found['predictions'] = digest_of(*_marks(Path(row.predictions)))
    elif row.checkpoint != RANDOM:
        found['checkpoint'] = contentdigest_of(Path(row.checkpoint))
    return {**found, 'versions': digest_of(json.dumps(versions())), 'hardware': digest_of(json.dumps(hardware()))}


def data_paths(dataset: Any) -> Iterator[Path]:
    """The files and folders that the config of a data set names, and those of the data sets inside it."""
    if isinstance(dataset, Mapping):
        root = dataset.get('data_root') or ''
        named = (dataset.get('ann_file'), dataset.get('bbox_file'), *(dataset.get('data_prefix') or {}).values())
        yield from (Path(root, name) for name in named if isinstance(name, str) and name)
        for key in ('dataset', 'datasets'):
            yield from data_paths(dataset.get(key))
    elif isinstance(dataset, (list, tuple)):
        for item in dataset:
            yield from data_paths(item)


def contentdigest_of(path: Path) -> str:
    """Of a file, or of all files in a folder and their names: every byte counts."""
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(f'{file.relative_to(path.parent).as_posix()}\n'.encode('utf-8', 'surrogateescape'))
        add_file(digest, file)
    return digest.hexdigest()


def _marks(path: Path) -> Iterator[str]:
    """Name, size and time of the last change of a file, or of all files in a folder."""
    for file in _files(path):
        state = file.stat()
        yield f'{file} {state.st_size} {state.st_mtime_ns}'


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, names in walk_folder(path):
        yield from (Path(folder, name) for name in names)


def digest_of(*texts: str) -> str:
    return hashlib.sha256('\n'.join(texts).encode('utf-8', 'surrogateescape')).hexdigest()
