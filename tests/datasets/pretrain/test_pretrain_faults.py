"""What is broken is named with file, member or row, and remedy; damaged images alone are passed over, and reported."""

from __future__ import annotations

import builtins
import gzip
import os
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np
import pytest
from pretrain_sets import PIPELINE, pictures, write_folder, write_parquet, write_shards, write_tar

from sapiens2.datasets import PretrainFolderDataset, PretrainParquetDataset, PretrainShardsDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.samplers import Draw
from sapiens2.utils.image_errors import ImageReadError

FILES = pictures(6)
MEMBERS = list(FILES.items())


def shards(root: Path, **kwargs) -> PretrainShardsDataset:
    return PretrainShardsDataset(str(root), pipeline=PIPELINE, **kwargs)


def test_folder_that_is_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='nowhere: is no folder; set data_root'):
        PretrainFolderDataset(str(tmp_path / 'nowhere'))
    (tmp_path / 'a.txt').write_text('no picture')
    with pytest.raises(DataError, match='finds no image'):
        PretrainFolderDataset(str(tmp_path))


def test_no_file_matches(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'\*\.tar: no file matches; check data_root and files'):
        shards(tmp_path)
    with pytest.raises(DataError, match='none.tar: cannot be opened: No such file'):
        shards(tmp_path, files='none.tar')


@pytest.mark.parametrize('keep, said', [
    (0, 'a.tar: the file is empty'),
    (300, 'a.tar: is no tar file, or damaged from its start'),
    (512 + 100, 'a.tar: 000000.jpg: the file is cut off or damaged in or after this member'),
    (-1, 'a.tar: 000005.png: the file is cut off or damaged in or after this member'),
], ids=['empty', 'in the first header', 'in the first member', 'end mark'])
def test_truncated_tar(keep: int, said: str, tmp_path: Path) -> None:
    content = write_tar(tmp_path / 'a.tar', MEMBERS).read_bytes()
    if keep < 0:  # cut exactly after the last member
        keep = len(content.rstrip(b'\0')) + -len(content.rstrip(b'\0')) % 512
    (tmp_path / 'a.tar').write_bytes(content[:keep])
    with pytest.raises(DataError, match=f'{said}.*copy or download it again'):
        shards(tmp_path)


def test_tar_with_a_damaged_header_in_the_middle(tmp_path: Path) -> None:
    content = bytearray(write_tar(tmp_path / 'a.tar', MEMBERS).read_bytes())
    start = content.index(b'000002.png')
    content[start:start + 200] = b'?' * 200
    (tmp_path / 'a.tar').write_bytes(content)
    with pytest.raises(DataError, match='a.tar: 000001.jpg: the file is cut off or damaged in or after'):
        shards(tmp_path)


def test_compressed_tar_and_several_faults(tmp_path: Path) -> None:
    write_tar(tmp_path / 'b.tar', MEMBERS)
    content = (tmp_path / 'b.tar').read_bytes()
    (tmp_path / 'a.tar').write_bytes(gzip.compress(content))
    (tmp_path / 'c.tar').write_bytes(content[:700])
    with pytest.raises(DataError, match=r'a.tar: is compressed.*1 more files are faulty: .*c.tar.*gunzip'):
        shards(tmp_path)


def test_members_with_one_name_and_members_that_are_no_pictures(tmp_path: Path) -> None:
    write_tar(tmp_path / 'a.tar', [*MEMBERS, MEMBERS[1]])
    with pytest.raises(DataError, match=r'a.tar: 000001.jpg: two members have this name, at bytes [\d,]+ and [\d,]+'):
        shards(tmp_path)
    write_tar(tmp_path / 'a.tar', [('1.txt', b'a'), ('1.json', b'{}'), ('._1.jpg', b'resource')])
    with pytest.raises(DataError, match='a.tar: holds no picture .*it holds txt, json; set images'):
        shards(tmp_path)


def damaged() -> dict[str, bytes]:
    """Six files, of which the first four cannot be read."""
    noise = np.random.default_rng(1).integers(0, 256, (60, 40, 3), dtype=np.uint8)
    jpeg = cv2.imencode('.jpg', noise)[1].tobytes()
    wrong = [b'', jpeg[:len(jpeg) // 2], b'<html>not found</html>', jpeg[:900] + b'\0' * 400 + jpeg[1300:]]
    return {name: wrong[number] if number < 4 else content for number, (name, content) in enumerate(FILES.items())}


@pytest.mark.parametrize('kind', ['folder', 'shards', 'parquet'])
def test_damaged_images_are_named_or_passed_over(kind: str, tmp_path: Path) -> None:
    if kind == 'parquet':
        pytest.importorskip('pyarrow')
    {'folder': write_folder, 'shards': write_shards, 'parquet': write_parquet}[kind](tmp_path, damaged())
    build = dict(folder=PretrainFolderDataset, shards=PretrainShardsDataset, parquet=PretrainParquetDataset)[kind]
    found = build(data_root=str(tmp_path), pipeline=PIPELINE)
    for index in range(4):
        with pytest.raises(ImageReadError) as caught:
            found[Draw(index, 3, 0)]
        assert caught.value.path == found.name(index) and caught.value.reason
    found.skip_unreadable = True
    sample = found[Draw(1, 3, 0)]
    assert sample['data_samples'].img_id >= 4
    paths = [path for path, _ in sample['data_samples'].unreadable]
    assert paths[0] == found.name(1) and set(paths) <= {found.name(index) for index in range(4)}


def test_tar_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    write_tar(tmp_path / 'a.tar', MEMBERS)
    found = shards(tmp_path)
    found.skip_unreadable = True
    (tmp_path / 'a.tar').write_bytes(b'\0' * 600)
    with pytest.raises(DataError, match='a.tar: 000005.png: the tar file has become shorter'):
        found[Draw(5, 0, 0)]


def test_parquet_columns_and_damage(tmp_path: Path) -> None:
    pytest.importorskip('pyarrow')
    write_parquet(tmp_path, FILES)
    with pytest.raises(DataError, match="part-000.parquet: unknown column: 'imag'. Did you mean 'image'"):
        PretrainParquetDataset(str(tmp_path), column='imag')
    with pytest.raises(DataError, match="column 'url' holds string, not the contents of image files"):
        PretrainParquetDataset(str(tmp_path), column='url')
    (tmp_path / 'part-000.parquet').write_bytes((tmp_path / 'part-000.parquet').read_bytes()[:-30])
    with pytest.raises(DataError, match='part-000.parquet: is no Parquet file, or cut off or damaged'):
        PretrainParquetDataset(str(tmp_path))


def test_missing_packages_are_named(tmp_path: Path) -> None:
    (tmp_path / 'a.parquet').write_bytes(b'PAR1')
    imported = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split('.')[0] in ('pyarrow', 'fsspec'):
            raise ImportError(f'no {name}')
        return imported(name, *args, **kwargs)

    with mock.patch.object(builtins, '__import__', refuse):
        with pytest.raises(ImportError, match=r'a.parquet: .*pyarrow; pip install "sapiens2\[parquet\]"'):
            PretrainParquetDataset(str(tmp_path))
        with pytest.raises(ImportError, match=r'pip install "sapiens2\[remote\]"'):
            PretrainShardsDataset('memory://set', files='a.tar')


def test_window_must_be_a_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='PretrainShardsDataset.window must be a whole number of at least 1, got 0'):
        shards(tmp_path, window=0)


def test_tar_with_a_hole_and_tars_in_one_file(tmp_path: Path) -> None:
    path = write_tar(tmp_path / 'a.tar', MEMBERS)
    content = bytearray(path.read_bytes())
    start = content.index(b'000003.jpg')
    content[start:start + 512] = bytes(512)
    path.write_bytes(content)
    said = r'a.tar: 000002.png: the end mark .* at byte [\d,]+, and yet there is more at byte [\d,]+.*joined with cat'
    with pytest.raises(DataError, match=said):
        shards(tmp_path)
    write_tar(path, MEMBERS[:3])
    path.write_bytes(path.read_bytes() + write_tar(tmp_path / 'b' / 'b.tar', MEMBERS[3:]).read_bytes())
    with pytest.raises(DataError, match=said):
        shards(tmp_path)
    write_tar(path, MEMBERS)
    path.write_bytes(path.read_bytes() + bytes(3 << 20))  # room at the end is no fault
    assert len(shards(tmp_path)) == 6


def test_tar_that_is_written_again_while_it_is_open(tmp_path: Path) -> None:
    path = write_tar(tmp_path / 'a.tar', MEMBERS)
    found = shards(tmp_path)
    assert found.read(2) == FILES['000002.png']
    os.utime(path, ns=(1, 1))  # of no consequence
    assert found.read(2) == FILES['000002.png']
    write_tar(path, [('extra.jpg', MEMBERS[0][1]), *MEMBERS])
    with pytest.raises(DataError, match='a.tar: 000002.png: the tar file is another one than when it was indexed'):
        found.read(2)


def test_a_file_counts_once(tmp_path: Path) -> None:
    write_tar(tmp_path / 'set' / 'a.tar', MEMBERS)
    files = ['*.tar', 'a.tar', './a.tar', '../set/a.tar', str(tmp_path / 'set' / 'a.tar')]
    assert len(shards(tmp_path / 'set', files=files)) == 6


@pytest.mark.parametrize('options, said', [
    (dict(files=[]), 'files must be a text or a list of texts'), (dict(files=None), 'files must be'),
    (dict(files=5), 'files must be'), (dict(files=['a.tar', 3]), 'files must be'), (dict(images=3), 'images must be'),
    (dict(cache_gb=float('nan')), 'cache_gb must be a number of gigabytes'), (dict(cache_gb=-1), 'cache_gb must be'),
    (dict(cache_gb='a'), 'cache_gb must be'), (dict(data_root=''), 'data_root must be the path of a folder'),
    (dict(data_root=None), 'data_root must be'), (dict(index_dir=''), 'index_dir must be the path of a folder'),
    (dict(index_dir=3), 'index_dir must be'),
])
def test_options_that_cannot_be(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    write_tar(tmp_path / 'a.tar', MEMBERS)
    with pytest.raises(ValueError, match=f'PretrainShardsDataset.{said}.*got'):
        PretrainShardsDataset(**{'data_root': str(tmp_path), **options})


def test_damaged_row_group_counts_as_unreadable_images(tmp_path: Path) -> None:
    pytest.importorskip('pyarrow')
    path = write_parquet(tmp_path, FILES) / 'part-000.parquet'
    content = path.read_bytes()
    start = content.index(FILES['000002.png'][:40])
    path.write_bytes(content[:start - 30] + b'?' * 30 + content[start:])
    found = PretrainParquetDataset(str(tmp_path), pipeline=PIPELINE)
    for number in (2, 3):
        with pytest.raises(ImageReadError, match='row group 1 is damaged, so none of its rows can be read') as caught:
            found.read(number)
        assert caught.value.path == found.name(number)
    assert found.read(4) == FILES['000004.jpg']
    found.skip_unreadable = True
    assert len(found[Draw(2, 0, 0)]['data_samples'].unreadable) >= 1
    other = PretrainParquetDataset(str(tmp_path), pipeline=PIPELINE)
    assert other.read(4) == FILES['000004.jpg']
    path.write_bytes(b'?' * 100)  # written again while it is open
    with pytest.raises(DataError, match='part-000.parquet: has changed since it was indexed'):
        other.read(0)


@pytest.mark.parametrize('kind', ['binary', 'large_binary', 'binary_view', 'dictionary', 'fixed', 'nested'])
def test_parquet_columns_of_all_binary_kinds(kind: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip('pyarrow')
    import pyarrow.parquet as parquet

    length = max(map(len, FILES.values()))
    values = [content.ljust(length, b'\0') if kind == 'fixed' else content for content in FILES.values()]
    column = pyarrow.array(values, pyarrow.binary(length) if kind == 'fixed' else pyarrow.binary())
    if kind == 'nested':
        column = pyarrow.StructArray.from_arrays([column.dictionary_encode()], ['bytes'])
    elif kind == 'dictionary':
        column = column.dictionary_encode()
    elif kind != 'fixed':
        column = column.cast(getattr(pyarrow, kind)())
    parquet.write_table(pyarrow.table({'image': column}), tmp_path / 'a.parquet', row_group_size=2)
    found = PretrainParquetDataset(str(tmp_path), pipeline=PIPELINE)
    assert [found.read(number) for number in range(6)] == values
    assert found[Draw(2, 0, 0)]['inputs']


def test_parquet_with_two_columns_of_one_name(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip('pyarrow')
    import pyarrow.parquet as parquet

    values = pyarrow.array(list(FILES.values()))
    path = tmp_path / 'a.parquet'
    parquet.write_table(pyarrow.Table.from_arrays([values, values], ['image', 'image']), path)
    with pytest.raises(DataError, match="a.parquet: 2 columns are called 'image'"):
        PretrainParquetDataset(str(tmp_path))
    parquet.write_table(pyarrow.Table.from_arrays([values, values, values], ['image', 'text', 'text']), path)
    assert PretrainParquetDataset(str(tmp_path)).read(3) == FILES['000003.jpg']
