"""Values of dense ground truth and of maps of labels that cannot be: refused by name, never read as something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.field_files import (
    read_albedo, read_depth, read_intrinsics, read_normal, read_sem_seg)
from sapiens2.datasets.label_table import LabelTable
from sapiens2.datasets.transforms.formatting import _unit

READERS: dict[str, Callable[[str], Any]] = {
    'sem_seg': lambda path: read_sem_seg(path, LabelTable.build(29)), 'normal': read_normal,
    'depth': lambda path: read_depth(path, 0.001), 'albedo': read_albedo, 'K': read_intrinsics}


@pytest.mark.parametrize('field', READERS)
@pytest.mark.parametrize('shape, dtype, words', [
    ((0, 4, 3), np.float32, 'is empty'), ((4, 4, 3), '<U3', 'must hold numbers'),
    ((4, 4, 3), complex, 'must hold numbers')])
def test_arrays_of_nothing_and_of_text(
        tmp_path: Path, field: str, shape: tuple[int, ...], dtype: Any, words: str) -> None:
    np.save(tmp_path / 'x.npy', np.zeros(shape, dtype))
    with pytest.raises(DataError, match=f'x.npy: {field} {words}') as caught:
        READERS[field](str(tmp_path / 'x.npy'))
    assert caught.value.fault.field == field


@pytest.mark.parametrize('values', [
    [[1, 0, 0], [7, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 2]], [[1, 0, 0], [0, 1, 0], [0, 3, 1]],
    [['1', '0', '0'], ['0', '1', '0'], ['0', '0', '1']], {'fx': 10**400, 'fy': 1, 'cx': 0.5, 'cy': 0}])
def test_no_camera_matrix(tmp_path: Path, values: Any) -> None:
    (tmp_path / 'K.json').write_text(json.dumps(values))
    with pytest.raises(DataError, match='K.json: K must be'):
        read_intrinsics(str(tmp_path / 'K.json'))


def test_byte_order_of_levels_does_not_matter(tmp_path: Path) -> None:
    for order in '<>':
        np.save(tmp_path / 'a.npy', np.full((3, 3, 3), 65535, f'{order}u2'))
        assert (read_albedo(str(tmp_path / 'a.npy')) == 1).all()


@pytest.mark.parametrize('label_map, words', [
    ({}, 'label_map is empty'), ({300: 0}, '300'), ({-1: 0}, '-1'), ({'0': 0}, "'0'"), ({True: 0}, 'True'),
    ({0: 77}, r'label_map\[0\]: 77 is none of the 29'), ({0: -1}, r'\[0\]: -1'), ({0: 1.7}, r'\[0\]: 1.7'),
    ({3: None}, r'\[3\]: None'), ({3: [1]}, r'\[3\]: \[1\]'), ({3: 'Hair'}, r"\[3\]: 'Hair'")])
def test_entries_of_a_label_map_that_cannot_be(label_map: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        LabelTable.build(29, label_map)


def test_label_map_of_the_ignored_label_alone() -> None:
    table = LabelTable.build(29, {255: 0})
    assert table.mapped[255] == 0 and table.wrong.sum() == 255 and 'for none' in table.valid


def test_lengths_do_not_depend_on_where_arrays_lie_in_memory() -> None:
    vectors = np.random.default_rng(0).standard_normal((3, 37, 41)).astype(np.float32)
    threads, results = cv2.getNumThreads(), []
    for offset in range(16):
        room = np.empty(vectors.nbytes + 128, np.uint8)
        start = -room.ctypes.data % 64 + 4 * offset
        moved = room[start:start + vectors.nbytes].view(np.float32).reshape(vectors.shape)
        moved[:] = vectors
        cv2.setNumThreads(offset % 2)
        results.append(_unit(moved))
    cv2.setNumThreads(threads)
    assert all(np.array_equal(result, results[0]) for result in results)
    np.testing.assert_allclose(np.linalg.norm(results[0], axis=0), 1, rtol=1e-6)
    assert not _unit(np.zeros((3, 2, 2), np.float32)).any()


def test_normals_are_read_to_the_same_bits_each_time(tmp_path: Path) -> None:
    normal = np.random.default_rng(0).standard_normal((37, 41, 3)).astype(np.float32)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    np.save(tmp_path / 'n.npy', normal)
    rooms, first = [], read_normal(str(tmp_path / 'n.npy'))
    for size in range(1, 40):
        rooms.append(np.empty(size * 36, np.float32))  # so that the next arrays lie elsewhere
        assert np.array_equal(read_normal(str(tmp_path / 'n.npy')), first)
