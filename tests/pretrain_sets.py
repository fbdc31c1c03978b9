"""Writes the same few pictures as a folder, as tar files and as Parquet files."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

SIZE = (120, 90)  # (H, W), pixels
PIPELINE = [
    dict(type='MultiCrop', global_crops=dict(size=(64, 48)), local_crops=dict(size=(32, 32), number=3)),
    dict(type='AugmentCrops', steps=[dict(type='RandomExposure'), dict(type='GaussianBlur', prob=0.5)]),
    dict(type='RandomTokenMask', ratio=0.75, token_size=16),
    dict(type='PackCrops'),
]


def pictures(count: int = 12) -> dict[str, bytes]:
    """Name -> content of smooth pictures, every third a PNG, the others JPEGs; names in order."""
    rng = np.random.default_rng(0)
    found = {}
    for number in range(count):
        coarse = rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)
        image = cv2.resize(coarse, SIZE[::-1], interpolation=cv2.INTER_LINEAR)
        ending = '.png' if number % 3 == 2 else '.jpg'
        found[f'{number:06d}{ending}'] = cv2.imencode(ending, image)[1].tobytes()
    return found


def write_folder(root: Path, files: Mapping[str, bytes], depth: int = 0) -> Path:
    """Write ``files`` below ``root``, ``depth`` folders down."""
    for number, (name, content) in enumerate(files.items()):
        place = root.joinpath(*[f'{level}-{number // 4}' for level in range(depth)], name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return root


def write_tar(path: Path, members: Sequence[tuple[str, bytes]]) -> Path:
    """A tar file of ``members``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, 'w') as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def write_shards(root: Path, files: Mapping[str, bytes], size: int = 4) -> Path:
    """Tar files of ``size`` pictures each, with a caption beside each picture."""
    items = list(files.items())
    for number, start in enumerate(range(0, len(items), size)):
        members = [(member, content) for name, picture in items[start:start + size]
                   for member, content in ((name, picture), (f'{Path(name).stem}.txt', b'somebody'))]
        write_tar(root / f'part-{number:03d}.tar', members)
    return root


def write_parquet(root: Path, files: Mapping[str, bytes], size: int = 6, group: int = 2, nested: bool = False) -> Path:
    """Parquet files of ``size`` pictures in row groups of ``group``, as bytes or as structures."""
    import pyarrow
    import pyarrow.parquet

    root.mkdir(parents=True, exist_ok=True)
    items = list(files.items())
    for number, start in enumerate(range(0, len(items), size)):
        part = items[start:start + size]
        column: list[Any] = [dict(bytes=content, path=name) if nested else content for name, content in part]
        table = pyarrow.table({'image': column, 'url': [name for name, _ in part]})
        pyarrow.parquet.write_table(table, root / f'part-{number:03d}.parquet', row_group_size=group)
    return root
