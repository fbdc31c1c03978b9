"""Folders, tar files and Parquet files of the same pictures give the same samples; draws depend on nothing else."""

from __future__ import annotations

import itertools
import os
import pickle
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from pretrain_sets import PIPELINE, pictures, write_folder, write_parquet, write_shards, write_tar
from torch.utils.data import DataLoader

from sapiens2.datasets import MixedDataset, PretrainFolderDataset, PretrainShardsDataset, collate_crops
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.pretrain.storage import expand_braces
from sapiens2.datasets.samplers import Draw, ResumableInfiniteSampler
from sapiens2.registry import DATASETS
from sapiens2.synth import shards as synth_shards

FILES = pictures()
KINDS = ('folder', 'shards', 'parquet')


def data_set(kind: str, root: Path, **kwargs: Any) -> Any:
    if kind == 'parquet':
        pytest.importorskip('pyarrow')
    {'folder': write_folder, 'shards': write_shards, 'parquet': write_parquet}[kind](root, FILES)
    return DATASETS.build(dict(type=f'Pretrain{kind.capitalize()}Dataset', data_root=str(root), pipeline=PIPELINE,
                               **kwargs))


def equal(first: Any, second: Any) -> bool:
    return all(torch.equal(first['inputs'][name], second['inputs'][name]) for name in first['inputs'])


def sampler_of(dataset: Any, rank: int = 0, world_size: int = 1, **kwargs: Any) -> ResumableInfiniteSampler:
    with mock.patch('sapiens2.datasets.samplers.infinite.get_dist_info', return_value=(rank, world_size)):
        return ResumableInfiniteSampler(dataset, seed=3, **kwargs)


@pytest.mark.parametrize('kind', KINDS)
def test_content_and_order_are_those_of_the_files(kind: str, tmp_path: Path) -> None:
    found = data_set(kind, tmp_path)
    assert len(found) == len(FILES)
    for number, content in enumerate(FILES.values()):
        info = found.get_data_info(number)
        assert info['img_bytes'] == content and info['img_id'] == number and str(tmp_path) in info['sample_id']


@pytest.mark.parametrize('kind', KINDS[1:])
def test_samples_are_those_of_the_folder(kind: str, tmp_path: Path) -> None:
    folder, packed = data_set('folder', tmp_path / 'a'), data_set(kind, tmp_path / 'b')
    for draw in (Draw(0, 5, 1), Draw(2, 77, 0), Draw(11, 8, 1)):
        assert equal(folder[draw], packed[draw])


@pytest.mark.parametrize('kind', KINDS)
def test_workers_and_pickling_change_nothing(kind: str, tmp_path: Path) -> None:
    found = data_set(kind, tmp_path)
    batches = {}
    for workers, context in ((0, None), (2, 'fork'), (2, 'spawn')):
        loader = DataLoader(found, batch_size=4, sampler=sampler_of(found), num_workers=workers,
                            collate_fn=collate_crops, multiprocessing_context=context)
        batches[workers, context] = list(itertools.islice(loader, 4))
    assert batches[0, None][0]['inputs']['global_crops'].shape == (4, 2, 3, 64, 48)
    assert batches[0, None][0]['inputs']['local_crops'].shape == (4, 3, 3, 32, 32)
    assert batches[0, None][0]['inputs']['visible'].shape == (4, 2, 3)
    for others in batches.values():
        assert all(equal(one, other) for one, other in zip(batches[0, None], others))


@pytest.mark.parametrize('kind', KINDS)
def test_resume_in_the_middle_equals_the_unbroken_run(kind: str, tmp_path: Path) -> None:
    found = data_set(kind, tmp_path, **({} if kind == 'folder' else {'window': 2}))
    whole = [found[draw] for draw in itertools.islice(sampler_of(found), 20)]
    reads = []
    with mock.patch.object(found, 'read', side_effect=lambda i: reads.append(i) or type(found).read(found, i)):
        rest = [found[draw] for draw in itertools.islice(sampler_of(found, start=17), 3)]
    assert len(reads) == 3  # nothing of what is behind
    assert all(equal(one, other) for one, other in zip(whole[17:], rest))
    two = [found[draw] for pair in zip(*(itertools.islice(sampler_of(found, rank, 2, start=6), 7) for rank in range(2)))
           for draw in pair]
    assert all(equal(one, other) for one, other in zip(whole[6:], two))


def test_each_pass_of_shards_holds_every_image_once_and_few_files_at_a_time(tmp_path: Path) -> None:
    found = data_set('shards', tmp_path, window=2)
    indices = [draw.index for draw in itertools.islice(sampler_of(found), 24)]
    assert sorted(indices[:12]) == sorted(indices[12:]) == list(range(12)) and indices[:12] != indices[12:]
    files = [index // 4 for index in indices]
    assert len(set(files[:8])) == 2 and len(set(files[:4])) == 2  # two of three files, and mixed
    plain = itertools.islice(sampler_of(found, shuffle=False), 12)
    assert [draw.index for draw in plain] == list(range(12))


def test_mixture_keeps_the_locality_of_each_part(tmp_path: Path) -> None:
    parts = [data_set('shards', tmp_path / 'a', window=1), data_set('folder', tmp_path / 'b')]
    mixed = MixedDataset(parts, weights=[1, 1])
    draws = list(itertools.islice(sampler_of(mixed), 24))
    files = [draw.index // 4 for draw in draws if draw.index < 12]
    assert [len(set(files[start:start + 4])) for start in (0, 4, 8)] == [1, 1, 1]
    assert equal(mixed[draws[0]], mixed[draws[0]])


def test_pickled_folder_is_small_and_maps_its_list(tmp_path: Path) -> None:
    found = data_set('folder', tmp_path)
    content = pickle.dumps(found)
    assert b'000003.jpg' not in content and len(content) < 8000
    again = pickle.loads(content)
    assert equal(again[Draw(3, 1, 0)], found[Draw(3, 1, 0)])


def test_list_of_a_folder_is_kept_until_the_folder_changes(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES, depth=2)
    assert len(PretrainFolderDataset(str(tmp_path))) == 12
    with mock.patch.object(PretrainFolderDataset, '_list', side_effect=AssertionError('listed again')):
        assert len(PretrainFolderDataset(str(tmp_path))) == 12
    (tmp_path / '0-1' / '1-1' / 'new.JPEG').write_bytes(FILES['000000.jpg'])
    (tmp_path / '0-1' / 'notes.txt').write_text('no picture')
    assert len(PretrainFolderDataset(str(tmp_path))) == 13
    os.utime(tmp_path, ns=(0, 0))
    assert len(PretrainFolderDataset(str(tmp_path), refresh=True)) == 13
    elsewhere = PretrainFolderDataset(str(tmp_path), index_dir=str(tmp_path.parent / 'lists'))
    assert len(elsewhere) == 13 and len(list((tmp_path.parent / 'lists').glob('*.list.safetensors'))) == 1


def test_damaged_list_is_made_again(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES)
    PretrainFolderDataset(str(tmp_path))
    (tmp_path / '.sapiens2' / 'images.list.safetensors').write_bytes(b'cut')
    assert len(PretrainFolderDataset(str(tmp_path))) == 12


def test_index_of_a_tar_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    found = data_set('shards', tmp_path)
    build = dict(data_root=str(tmp_path), files='part-{000..002}.tar')
    with mock.patch.object(PretrainShardsDataset, 'scan', side_effect=AssertionError('scanned again')):
        assert len(PretrainShardsDataset(**build)) == len(found)
    write_tar(tmp_path / 'part-001.tar', list(FILES.items())[:2])
    assert len(PretrainShardsDataset(**build)) == 10


def test_index_that_cannot_be_written_stays_in_memory(tmp_path: Path) -> None:
    write_shards(tmp_path, FILES)
    (tmp_path / 'file').write_text('')
    found = PretrainShardsDataset(str(tmp_path), index_dir=str(tmp_path / 'file'), pipeline=PIPELINE)
    assert found.get_data_info(11)['img_bytes'] == list(FILES.values())[11]
    assert pickle.loads(pickle.dumps(found)).get_data_info(5)['img_bytes'] == list(FILES.values())[5]


def test_nested_parquet_column_is_found(tmp_path: Path) -> None:
    pytest.importorskip('pyarrow')
    write_parquet(tmp_path, FILES, nested=True)
    found = DATASETS.build(dict(type='PretrainParquetDataset', data_root=str(tmp_path)))
    assert [found.get_data_info(index)['img_bytes'] for index in (7, 0, 11)] == [
        list(FILES.values())[index] for index in (7, 0, 11)]


def test_one_picture_of_each_generated_sample_is_taken(tmp_path: Path) -> None:
    names = [f'{number:06d}.{kind}' for number in range(3) for kind in ('images.jpg', 'labels.png', 'cameras.json')]
    write_tar(tmp_path / 'a.tar', [(name, FILES['000000.jpg']) for name in names])
    assert synth_shards.FOLDERS['images'] == '.jpg'
    assert len(PretrainShardsDataset(str(tmp_path), images='images.jpg')) == 3
    with pytest.raises(DataError, match=r"000000: this sample has several pictures, 000000.images.jpg and .*images="):
        PretrainShardsDataset(str(tmp_path))


def test_options_change_steps_of_the_pipeline(tmp_path: Path) -> None:
    found = data_set('folder', tmp_path, pipeline_options=dict(
        MultiCrop=dict(global_crops=dict(size=(32, 64), number=1), local_crops=dict(number=0)),
        RandomTokenMask=dict(ratio=0.0)))
    inputs = found[Draw(0, 0, 0)]['inputs']
    assert list(inputs) == ['global_crops'] and inputs['global_crops'].shape == (1, 3, 32, 64)
    with pytest.raises(DataError, match="'MultiCorp'. Did you mean 'MultiCrop'"):
        PretrainFolderDataset(str(tmp_path), pipeline=PIPELINE, pipeline_options=dict(MultiCorp={}))


def test_braces() -> None:
    assert list(expand_braces('a{08..10}-{x,y}.tar')) == [
        f'a{number}-{letter}.tar' for number in ('08', '09', '10') for letter in 'xy']
    assert list(expand_braces('plain.tar')) == ['plain.tar']


def test_shards_of_many_sizes_are_found_by_number() -> None:
    sizes = np.array([1, 5, 2])
    shards = PretrainShardsDataset('nowhere', lazy_init=True)
    shards.locate([sizes[:1], sizes[1:2], sizes[2:]])
    assert [shards._find(index) for index in range(8)] == [(0, 0), *((1, place) for place in range(5)), (2, 0), (2, 1)]
