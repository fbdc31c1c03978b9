"""Folders of images and ground truth: pairing, reading, targets, and errors that name files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from sapiens2.datasets import DataError, DenseFolderDataset
from sapiens2.datasets.errors import Fault, Kind
from sapiens2.datasets.field_files import read_depth, read_mask
from sapiens2.registry import DATASETS
from sapiens2.utils.image_io import ImageReadError, write_image

HEIGHT, WIDTH = 24, 18
TRAIN = [dict(type='LoadImage'), dict(type='LoadFields'), dict(type='RandomFlip', prob=0.5),
         dict(type='Resize', size=(32, 24)), dict(type='GeneratePointmap'), dict(type='PackInputs')]
EVAL = [dict(type='LoadImage'), dict(type='LoadFields', for_eval=True),
        dict(type='Resize', size=(32, 32), keep_ratio=True), dict(type='GeneratePointmap'), dict(type='PackInputs')]
CAMERA = [[30, 0, 8], [0, 30, 12], [0, 0, 1]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two images, one in a sub-folder with dots in its name, with every field."""
    rng = np.random.default_rng(0)
    for stem in ('a', 'sub/b.c'):
        image = rng.integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        write_image(tmp_path / f'images/{stem}.JPG', image)
        labels = rng.integers(0, 29, (HEIGHT, WIDTH)).astype(np.uint8)
        labels[0] = 255
        write_image(tmp_path / f'labels/{stem}.png', labels)
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        mask[4:20, 3:15] = 255
        write_image(tmp_path / f'masks/{stem}.png', mask)
        normal = rng.normal(size=(HEIGHT, WIDTH, 3)).astype(np.float32)
        normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
        normal[5, 5] = np.nan
        save(tmp_path / f'normals/{stem}.npy', normal)
        depth = rng.uniform(1, 3, (HEIGHT, WIDTH)).astype(np.float32)
        depth[6, 6], depth[7, 7] = 0, np.inf
        save(tmp_path / f'depths/{stem}.npy', depth)
        save(tmp_path / f'albedos/{stem}.npy', rng.random((HEIGHT, WIDTH, 3)).astype(np.float32))
    (tmp_path / 'camera.json').write_text(json.dumps({'K': CAMERA}))
    return tmp_path


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)


def build(root: Path, pipeline: Any = (), **kwargs: Any) -> DenseFolderDataset:
    prefix = dict(img_path='images', **kwargs.pop('prefix'))
    kwargs.setdefault('serialize_data', False)
    return DATASETS.build(dict(type='DenseFolderDataset', data_root=str(root), data_prefix=prefix,
                               pipeline=list(pipeline), **kwargs))


ALL = dict(sem_seg='labels', mask='masks', normal='normals', depth='depths', albedo='albedos', K='camera.json')


def test_training_sample(root: Path) -> None:
    dataset = build(root, TRAIN, prefix=ALL)
    assert len(dataset) == 2 and dataset[1]['data_samples'].img_id == 'sub/b.c.JPG'
    item = dataset[0]
    fields = item['data_samples'].gt_fields
    shapes = {name: (tuple(value.shape), value.dtype) for name, value in fields.items()}
    assert item['inputs'].shape == (3, 32, 24) and item['inputs'].dtype == torch.uint8
    assert shapes == {
        'sem_seg': ((32, 24), torch.int64), 'mask': ((1, 32, 24), torch.bool),
        'normal': ((3, 32, 24), torch.float32), 'depth': ((1, 32, 24), torch.float32),
        'albedo': ((3, 32, 24), torch.float32), 'pointmap': ((3, 32, 24), torch.float32),
        'scale': ((1,), torch.float32), 'K': ((3, 3), torch.float32)}
    assert all(torch.isfinite(value).all() for value in fields.values())
    length = fields.normal.norm(dim=0)
    assert ((length - 1).abs() < 1e-5)[fields.mask[0]].all()
    assert float(fields.scale) == pytest.approx(768 / (30 * 24 / 18))
    assert 'eval_fields' not in item['data_samples']
    assert dataset.metainfo['classes'][1] == 'Apparel'


def test_validity_makes_the_mask(root: Path) -> None:
    dataset = build(root, TRAIN[:2], prefix=dict(normal='normals', depth='depths'))
    mask = dataset[0]['mask']
    assert mask[5, 5] == mask[6, 6] == mask[7, 7] == 0 and mask.sum() == HEIGHT * WIDTH - 3


def test_evaluation_keeps_the_size_of_the_source(root: Path) -> None:
    sample = build(root, EVAL, prefix=ALL, test_mode=True)[0]['data_samples']
    assert sample.img_shape == (32, 32) and sample.padding == (4, 4, 0, 0) and sample.ori_shape == (HEIGHT, WIDTH)
    assert sample.eval_fields.sem_seg.shape == (HEIGHT, WIDTH)
    assert sample.eval_fields.pointmap.shape == (3, HEIGHT, WIDTH)
    assert torch.equal(sample.eval_fields.K, torch.tensor(CAMERA).float())
    assert 'gt_fields' not in sample


@pytest.mark.parametrize('bits, kind', [(8, 'normal'), (16, 'normal'), (8, 'albedo'), (16, 'albedo')])
def test_pictures_of_normals_and_albedo(root: Path, bits: int, kind: str) -> None:
    stored = np.load(root / f'{kind}s/a.npy')
    unit = (np.nan_to_num(stored) + 1) / 2 if kind == 'normal' else stored
    levels = np.round(unit * (2**bits - 1)).astype(f'uint{bits}')
    for stem in ('a', 'sub/b.c'):
        write_image(root / f'pictures/{stem}.png', np.ascontiguousarray(levels[..., ::-1]))
    steps = [dict(type='LoadImage'), dict(type='LoadFields')]
    results = build(root, steps, prefix={kind: 'pictures'})[0]
    valid = results['mask'] > 0
    assert valid.sum() >= HEIGHT * WIDTH - 1
    np.testing.assert_allclose(results[kind][valid], stored[valid], atol=2.5 / 2**bits)


def test_depth_in_millimetres(root: Path) -> None:
    depth = np.array([[0, 1500], [65535, 1]], np.uint16)
    write_image(root / 'd.png', depth)
    np.testing.assert_allclose(read_depth(str(root / 'd.png'), 0.001), [[0, 1.5], [65.535, 0.001]], rtol=1e-6)
    np.savez(root / 'd.npz', depth=depth / 1000, other=depth)
    np.testing.assert_allclose(read_depth(str(root / 'd.npz'), 0.001), depth / 1000, rtol=1e-6)
    write_image(root / 'd8.png', depth.astype(np.uint8))
    with pytest.raises(DataError, match='8 bits'):
        read_depth(str(root / 'd8.png'), 0.001)


@pytest.mark.parametrize('values', [
    CAMERA, {'K': CAMERA}, {'fx': 30, 'fy': 30, 'cx': 8, 'cy': 12}, {'K': [30, 0, 8, 0, 30, 12, 0, 0, 1]}])
def test_cameras(root: Path, values: Any) -> None:
    for stem in ('a', 'sub/b.c'):
        path = root / f'cameras/{stem}.json'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    steps = [dict(type='LoadImage'), dict(type='LoadFields')]
    results = build(root, steps, prefix=dict(K='cameras', depth='depths'))[1]
    assert results['K'].tolist() == CAMERA


@pytest.mark.parametrize('values, words', [
    ({'fx': 30}, 'fy'), ([[1, 2], [3, 4]], '3x3'), ({'K': [[0, 0, 8], [0, 30, 12], [0, 0, 1]]}, 'fx, fy > 0'),
    ({'K': 'none'}, '3x3')])
def test_bad_cameras(root: Path, values: Any, words: str) -> None:
    (root / 'camera.json').write_text(json.dumps(values))
    with pytest.raises(DataError, match=words) as caught:
        build(root, TRAIN, prefix=dict(depth='depths', K='camera.json'))[0]
    assert 'camera.json' in str(caught.value)


def test_depth_without_camera_is_an_error(root: Path) -> None:
    with pytest.raises(DataError, match='K is missing'):
        build(root, TRAIN, prefix=dict(depth='depths'))[0]


def test_label_map(root: Path) -> None:
    labels = np.tile(np.arange(34, dtype=np.uint8)[:HEIGHT], (WIDTH, 1)).T
    labels[0] = 33
    for stem in ('a', 'sub/b.c'):
        write_image(root / f'labels34/{stem}.png', np.ascontiguousarray(labels))
    steps = [dict(type='LoadImage'), dict(type='LoadFields')]
    mapped = build(root, steps, prefix=dict(sem_seg='labels34'), label_map='map_34_to_29')[0]['sem_seg'][:, 0]
    assert mapped[[0, 7, 8, 3]].tolist() == [28, 255, 5, 2]
    own = build(root, steps, prefix=dict(sem_seg='labels34'), label_map={i: 0 for i in range(34)})[0]['sem_seg']
    assert not own.any()
    with pytest.raises(DataError, match='map_34_to_29'):
        build(root, prefix=dict(sem_seg='labels34'), label_map='map_34')


def test_labels_out_of_range_are_named(root: Path) -> None:
    labels = np.zeros((HEIGHT, WIDTH), np.uint8)
    labels[2, 2], labels[3, 3] = 29, 200
    write_image(root / 'labels/a.png', labels)
    with pytest.raises(DataError, match=r'a\.png.*\[29, 200\].*0 to 28, or 255.*label_map'):
        build(root, TRAIN, prefix=dict(sem_seg='labels'))[0]
    own = build(root, TRAIN[:2], prefix=dict(sem_seg='labels'), classes=[f'c{i}' for i in range(201)])
    assert own[0]['sem_seg'][3, 3] == 200


def test_own_classes_swap_sides(root: Path) -> None:
    dataset = build(root, prefix=dict(sem_seg='labels'), classes=['None', 'Right_Ear', 'Left_Ear'])
    assert dataset.metainfo['flip_pairs'] == [[2, 1]]


def test_palette_labels(root: Path) -> None:
    labels = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH).astype(np.uint8) % 29
    image = Image.frombytes('P', (WIDTH, HEIGHT), labels.tobytes())
    image.putpalette(np.random.default_rng(0).integers(0, 255, 768, dtype=np.uint8).tobytes())
    image.save(root / 'labels/a.png')
    assert np.array_equal(build(root, TRAIN[:2], prefix=dict(sem_seg='labels'))[0]['sem_seg'], labels)


def test_missing_ground_truth_is_counted_and_named(root: Path) -> None:
    (root / 'labels/a.png').unlink()
    with pytest.raises(DataError, match=r"a\.JPG: .*'sem_seg'.*1 of 2 images"):
        build(root, prefix=dict(sem_seg='labels'))
    (root / 'split.txt').write_text('sub/b.c.JPG\n\n')
    assert len(build(root, prefix=dict(sem_seg='labels'), ann_file='split.txt')) == 1
    (root / 'split.txt').write_text('sub/b.c\n')
    assert len(build(root, prefix=dict(sem_seg='labels'), ann_file='split.txt')) == 1
    (root / 'split.txt').write_text('sub/b.d.JPG\n')
    with pytest.raises(DataError, match=r'split\.txt.*sub/b\.c\.JPG'):
        build(root, prefix=dict(sem_seg='labels'), ann_file='split.txt')


def test_ambiguous_names_are_errors(root: Path) -> None:
    write_image(root / 'labels/a.webp', np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    with pytest.raises(DataError, match='could both be sem_seg'):
        build(root, prefix=dict(sem_seg='labels'))
    write_image(root / 'images/a.png', np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    with pytest.raises(DataError, match='differ only in their ending'):
        build(root, prefix=dict(normal='normals'))


def test_bad_arguments_are_helped(root: Path) -> None:
    with pytest.raises(DataError, match="'normal'"):
        build(root, prefix=dict(normals='normals'))
    with pytest.raises(DataError, match='is no folder'):
        build(root, prefix=dict(normal='nowhere'))
    with pytest.raises(KeyError, match='seg29'):
        build(root, prefix=dict(sem_seg='labels'), classes='seg19')
    with pytest.raises(DataError, match='img_path'):
        DenseFolderDataset(data_prefix=dict(sem_seg='labels'))


@pytest.mark.parametrize('shape, words', [((9, 9), 'must be equal'), ((WIDTH, HEIGHT), 'crosswise')])
def test_sizes_must_agree(root: Path, shape: tuple[int, int], words: str) -> None:
    write_image(root / 'labels/a.png', np.zeros(shape, np.uint8))
    with pytest.raises(DataError, match=words) as caught:
        build(root, TRAIN, prefix=dict(sem_seg='labels'))[0]
    assert 'labels/a.png' in str(caught.value) and 'images/a.JPG' in str(caught.value)


@pytest.mark.parametrize('field, array, words', [
    ('normal', np.zeros((HEIGHT, WIDTH)), r'\(H, W, 3\)'),
    ('normal', np.zeros((3, HEIGHT, WIDTH)), r'\(H, W, 3\)'),
    ('depth', np.zeros((HEIGHT, WIDTH, 3)), r'\(H, W\)'),
    ('albedo', np.full((HEIGHT, WIDTH, 3), 2.0), r'\[0, 1\]'),
    ('albedo', np.full((HEIGHT, WIDTH, 3), np.nan), r'\[0, 1\]'),
])
def test_bad_arrays(root: Path, field: str, array: np.ndarray, words: str) -> None:
    save(root / f'{field}s/a.npy', array)
    with pytest.raises(DataError, match=words) as caught:
        build(root, TRAIN[:2], prefix={field: f'{field}s'})[0]
    assert 'a.npy' in str(caught.value)


def test_damaged_files(root: Path) -> None:
    path = root / 'normals/a.npy'
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r'a\.npy.*cannot be read as a NumPy file'):
        build(root, TRAIN[:2], prefix=dict(normal='normals'))[0]
    np.save(path, np.array([{'code': 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match='pickle'):
        build(root, TRAIN[:2], prefix=dict(normal='normals'))[0]
    (root / 'images/a.JPG').write_bytes(b'')
    with pytest.raises(ImageReadError, match='empty'):
        build(root, TRAIN[:2], prefix=dict(mask='masks'))[0]


def test_masks(root: Path) -> None:
    steps = TRAIN[:2]
    for values in (np.eye(HEIGHT, WIDTH, dtype=np.uint8), np.eye(HEIGHT, WIDTH, dtype=np.uint8) * 255):
        write_image(root / 'masks/a.png', values)
        assert np.array_equal(build(root, steps, prefix=dict(mask='masks'))[0]['mask'], np.eye(HEIGHT, WIDTH))
    save(root / 'bools/a.npy', np.eye(HEIGHT, WIDTH) > 0)
    save(root / 'bools/sub/b.c.npy', np.eye(HEIGHT, WIDTH) > 0)
    assert np.array_equal(build(root, steps, prefix=dict(mask='bools'))[0]['mask'], np.eye(HEIGHT, WIDTH))


@pytest.mark.parametrize('dtype', [np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32])
def test_masks_as_arrays_of_any_type(dtype: type, tmp_path: Path) -> None:
    inside = np.eye(4, 5)
    for full in (1, 255):
        if (dtype, full) != (np.float32, 255):  # floats are shares, of which more than half count
            np.save(tmp_path / 'mask.npy', (inside * full).astype(dtype))
            assert np.array_equal(read_mask(str(tmp_path / 'mask.npy')), inside)
    if dtype is not np.float32:
        np.save(tmp_path / 'mask.npy', np.array([[0, 1, 127, 128, 255]], dtype))
        assert read_mask(str(tmp_path / 'mask.npy')).tolist() == [[0, 0, 0, 1, 1]]
    for wide in (np.uint16, np.int32):
        np.save(tmp_path / 'mask.npy', np.array([[0, 255, 32767, 32768, 65535]], wide))
        assert read_mask(str(tmp_path / 'mask.npy')).tolist() == [[0, 0, 0, 1, 1]]


def test_an_image_that_is_listed_twice_is_a_warning(root: Path) -> None:
    (root / 'split.txt').write_text('a.JPG\nsub/b.c.JPG\na\n')
    faults: list[Fault] = []
    dataset = build(root, prefix=dict(sem_seg='labels'), ann_file='split.txt', lazy_init=True)
    dataset.report = faults.append
    assert len(dataset.load_data_list()) == 3
    fault, = faults
    assert fault.kind is Kind.SAME_FILE and fault.warning and 'split.txt: names a twice' in str(fault)


def test_no_sample_is_a_fault_of_its_own_kind(root: Path) -> None:
    (root / 'split.txt').write_text('\n')
    with pytest.raises(DataError, match='split.txt: DenseFolderDataset finds no sample') as caught:
        build(root, prefix={}, ann_file='split.txt')
    assert caught.value.fault.kind is Kind.EMPTY


def test_empty_folders_and_lists_that_are_no_text_are_data_errors(root: Path, tmp_path: Path) -> None:
    (root / 'nothing').mkdir()
    with pytest.raises(DataError, match=r"data_prefix\['img_path'\].*no picture in this folder"):
        DenseFolderDataset(data_root=str(root), data_prefix=dict(img_path='nothing'))
    (root / 'split.txt').write_text('a.JPG\n', encoding='utf-16')
    with pytest.raises(DataError, match='split.txt: cannot be read as a list'):
        DenseFolderDataset(data_root=str(root), ann_file='split.txt', data_prefix=dict(img_path='images'))


def test_depth_must_be_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / 'depth.npy', np.zeros((4, 4), complex))
    with pytest.raises(DataError, match='depth.npy: .*complex'):
        read_depth(str(tmp_path / 'depth.npy'), 0.001)


def test_links_in_circles_end(root: Path) -> None:
    for name in ('one', 'two'):
        (root / 'labels' / name).symlink_to('.')
        (root / 'images/sub' / name).symlink_to('..')
    dataset = build(root, prefix=dict(sem_seg='labels'))
    assert [dataset.get_data_info(i)['img_id'] for i in range(len(dataset))] == ['a.JPG', 'sub/b.c.JPG']


def test_lists_name_files_with_any_separator(root: Path) -> None:
    for folder, ending in (('images', 'JPG'), ('labels', 'png')):
        (root / folder / f'a.{ending}').rename(root / folder / f'x\u2028y\x85.{ending}')
    (root / 'split.txt').write_bytes('x\u2028y\x85\r\n ./sub/b.c.JPG \n'.encode())
    dataset = build(root, prefix=dict(sem_seg='labels'), ann_file='split.txt')
    assert [dataset.get_data_info(i)['img_id'] for i in range(2)] == ['x\u2028y\x85.JPG', 'sub/b.c.JPG']


def test_names_that_are_no_utf8(root: Path) -> None:
    name = os.fsdecode(b'\xff\xfe')
    for folder, ending in (('images', 'JPG'), ('labels', 'png')):
        (root / folder / f'a.{ending}').rename(root / folder / f'{name}.{ending}')
    (root / 'split.txt').write_bytes(b'\xff\xfe\n')
    dataset = build(root, TRAIN[:2], prefix=dict(sem_seg='labels'), ann_file='split.txt')
    assert dataset[0]['img_path'] == str(root / 'images' / f'{name}.JPG')


def test_one_camera_beside_the_images_is_found(root: Path) -> None:
    found = build(root, TRAIN[:2], prefix=dict(depth='depths', K='cameras'))
    assert found[0]['K'].tolist() == CAMERA
    save(root / 'K.npy', np.array(CAMERA, float))
    with pytest.raises(DataError, match='K.npy: it and .*camera.json could both be'):
        build(root, prefix=dict(depth='depths', K='cameras'))


def test_label_maps_must_be_dictionaries(root: Path) -> None:
    with pytest.raises(DataError, match='label_map must be a dictionary'):
        build(root, prefix=dict(sem_seg='labels'), label_map=[1, 2])
