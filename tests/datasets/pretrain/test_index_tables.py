"""Lists and indexes that are damaged are made anew, whatever is wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from pretrain_sets import PIPELINE, pictures, write_folder, write_parquet, write_shards
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sapiens2.datasets.pretrain import tables
from sapiens2.datasets.pretrain.base import INDEX_DIR
from sapiens2.registry import DATASETS

FILES = pictures(6)
WRITERS = dict(folder=write_folder, shards=write_shards, parquet=write_parquet)


def opened(kind: str, root: Path) -> Any:
    return DATASETS.build(dict(type=f'Pretrain{kind.capitalize()}Dataset', data_root=str(root), pipeline=PIPELINE))


def index_of(root: Path) -> Path:
    return min((root / INDEX_DIR).iterdir())


def change(path: Path, columns: dict[str, Any], **metadata: str) -> None:
    """Write an index again with other columns, None for one that is to go, and a checksum that fits them."""
    with safe_open(path, framework='np') as file:
        known = file.metadata()
    now = {name: value for name, value in {**load_file(path), **columns}.items() if value is not None}
    save_file(now, path, {**known, 'checksum': tables._checksum(now), **metadata})


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize('kind, columns', [
    ('folder', dict(times=None)), ('folder', dict(times=numbers())), ('folder', dict(names_ends=numbers(3, 2, 60))),
    ('folder', dict(names=np.zeros(3, np.uint8))), ('folder', dict(names_ends=np.ones(6, np.float32))),
    ('shards', dict(offsets=None)), ('shards', dict(sizes=numbers(1))), ('shards', dict(offsets=numbers(-1, 1, 1, 1))),
    ('shards', dict(sizes=numbers(10, 10, 10, 1 << 40))), ('shards', dict(names_ends=numbers(1, 2, 3, 400))),
    ('parquet', dict(sizes=numbers(-2, 2, 2))), ('parquet', dict(sizes=numbers())), ('parquet', dict(sizes=None)),
])
def test_columns_that_do_not_fit_are_made_anew(kind: str, columns: dict[str, Any], tmp_path: Path) -> None:
    if kind == 'parquet':
        pytest.importorskip('pyarrow')
    WRITERS[kind](tmp_path, FILES)
    opened(kind, tmp_path)
    path = index_of(tmp_path)
    expected = load_file(path)
    change(path, columns)
    found = opened(kind, tmp_path)
    assert [found.read(number) for number in range(len(found))] == list(FILES.values())
    now = load_file(path)
    assert now.keys() == expected.keys() and all(np.array_equal(now[name], expected[name]) for name in now)


@pytest.mark.parametrize('metadata', [dict(stamp='{'), dict(stamp='[1]'), dict(checksum='00000000')])
def test_metadata_that_is_damaged(metadata: dict[str, str], tmp_path: Path) -> None:
    write_folder(tmp_path, FILES)
    opened('folder', tmp_path)
    change(index_of(tmp_path), {}, **metadata)
    assert len(opened('folder', tmp_path)) == 6
    with safe_open(index_of(tmp_path), framework='np') as file:
        assert 'root' in json.loads(file.metadata()['stamp'])


def test_a_name_that_has_changed_is_noticed(tmp_path: Path) -> None:
    """Such as one that leads out of the folder."""
    write_folder(tmp_path / 'set', FILES)
    opened('folder', tmp_path / 'set')
    path = index_of(tmp_path / 'set')
    content = path.read_bytes()
    path.write_bytes(content.replace(b'000003.jpg', b'../003.jpg'))
    assert content != path.read_bytes()
    assert opened('folder', tmp_path / 'set').name(3).endswith('000003.jpg')


def test_what_is_in_order_is_kept(tmp_path: Path) -> None:
    write_shards(tmp_path, FILES)
    opened('shards', tmp_path)
    with mock.patch('sapiens2.datasets.pretrain.shards.index_tar', side_effect=AssertionError):
        assert len(opened('shards', tmp_path)) == 6
