"""Probes of patch tokens: tokens that hold the truth reach it, noise does no better than the mean."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

from sapiens2.evaluation.functional import depth_scores, depth_sums
from sapiens2.evaluation.probes import dense
from sapiens2.evaluation.probes.coarse import GROUPS, coarse_table
from sapiens2.evaluation.probes.dense import DenseTask
from sapiens2.evaluation.probes.ground_truth import GroundTruth, target_store
from sapiens2.evaluation.probes.images import open_data
from sapiens2.evaluation.probes.store import CHUNK, TensorStore

SIZE, GRID, CELLS = (64, 96), (4, 6), 2
QUIET = Console(quiet=True)


@pytest.fixture
def data(tmp_path: Path):
    """Pictures in stripes as wide as a patch: a class each, one normal, depth and colour a picture."""
    rng = np.random.default_rng(0)
    for split, count in (('train', 20), ('val', 4)):
        for number in range(count):
            labels = np.repeat(rng.choice([0, 3, 13, 23], GRID[1]).astype(np.uint8), 16)[None].repeat(SIZE[0], 0)
            normal = rng.standard_normal(3) + (0, 0, -2)
            files = {'images': np.zeros((*SIZE, 3), np.uint8), 'labels': labels,
                     'normals': np.broadcast_to(normal / np.linalg.norm(normal), (*SIZE, 3)).astype(np.float32),
                     'depths': np.full(SIZE, rng.uniform(1, 4), np.float32),
                     'albedos': np.broadcast_to(rng.integers(20, 250, 3).astype(np.uint8), (*SIZE, 3)),
                     'masks': np.full(SIZE, 255, np.uint8)}
            files['images'][0, 0] = (number, split == 'val', 1)
            for folder, pixels in files.items():
                path = tmp_path / split / folder / str(number)
                path.parent.mkdir(parents=True, exist_ok=True)
                if pixels.dtype == np.uint8:
                    cv2.imwrite(f'{path}.png', pixels)
                else:
                    np.save(path, pixels)
    return open_data(tmp_path)


def parts(data, folder: Path, perfect: bool):
    """Truth, targets and features; perfect ones hold class, normal, logarithm of depth and albedo of each patch."""
    truth = GroundTruth(data, SIZE)
    targets = target_store(folder, data, truth, SIZE, GRID, CELLS, QUIET)
    features = TensorStore(folder / 'tokens', len(data.images))
    generator = torch.Generator().manual_seed(0)
    for start in range(0, features.count, CHUNK):
        tokens = []
        for number in range(start, min(start + CHUNK, features.count)):
            label = next(targets.read('label', [number]))[1][::CELLS, ::CELLS].long()
            values = next(targets.read('values', [number]))[1][::CELLS, ::CELLS]
            tokens.append(torch.cat((torch.nn.functional.one_hot(label, 29), values), -1) if perfect
                          else torch.randn(*GRID, 8, generator=generator))
        features.folder.mkdir(exist_ok=True)
        save_file({'patches': torch.stack(tokens).float()}, features.file(start))
    return truth, targets, features


def figures(data, folder: Path, perfect: bool) -> tuple[dict[str, float], dict[str, float]]:
    truth, targets, features = parts(data, folder, perfect)
    task = DenseTask(data.fields, data.classes, CELLS)
    train, val = data.indices('train'), data.indices('val')
    head = dense.fit(features, targets, train, task, torch.Generator().manual_seed(0))
    trivial = dense.fit_trivial(targets, train, task, next(features.read('patches', val))[1].shape[-1])
    found = dense.evaluate({'head': head, 'trivial': trivial}, features, truth, val)
    return found['head'], found['trivial']


def test_tokens_that_hold_the_truth(data, tmp_path):
    found, trivial = figures(data, tmp_path / 'out', perfect=True)
    assert found['seg/mIoU_percent'] == 100 and found['seg_coarse/mIoU_percent'] == 100
    assert found['normal/mean_deg'] < 0.5 < trivial['normal/mean_deg']
    assert found['depth/rmse_m'] < 0.02 < trivial['depth/rmse_m']
    assert found['relief/rmse_m'] < 0.02
    assert found['albedo/psnr_db'] > 40 > trivial['albedo/psnr_db']


def test_noise_is_no_better_than_the_mean(data, tmp_path):
    found, trivial = figures(data, tmp_path / 'out', perfect=False)
    assert found['seg/mIoU_percent'] < 35
    assert found['normal/mean_deg'] > 0.9 * trivial['normal/mean_deg']
    assert found['depth/rmse_m'] > 0.9 * trivial['depth/rmse_m']


def test_few_pictures(data, tmp_path):
    truth, targets, features = parts(data, tmp_path / 'out', perfect=True)
    head = dense.fit(features, targets, data.indices('train')[:1], DenseTask(data.fields, data.classes, CELLS),
                     torch.Generator().manual_seed(0))
    scores = dense.evaluate({'head': head}, features, truth, data.indices('val'))['head']
    assert scores['seg/mIoU_percent'] > 50  # a picture may lack a class


def test_cells_stand_where_they_belong():
    task = DenseTask((), (), 2)
    cells = torch.arange(4 * 6).reshape(4, 6, 1).float()
    patches = dense.by_patch(cells, 2)
    assert patches[0, :, 0].tolist() == [0, 1, 6, 7]
    assert dense.DenseHead(task)._to_cells(patches.reshape(2, 3, 4, 1))[0].tolist() == cells[..., 0].tolist()


def test_truth_is_kept_until_a_file_of_it_changes(data, tmp_path):
    truth, out = GroundTruth(data, SIZE), tmp_path / 'out'
    first = target_store(out, data, truth, SIZE, GRID, CELLS, QUIET)
    assert target_store(out, data, truth, SIZE, GRID, CELLS, QUIET).folder == first.folder
    assert target_store(out, data, truth, SIZE, GRID, 4, QUIET).folder != first.folder
    np.save(data.images[0].field_paths['depth'].removesuffix('.npy'), np.full(SIZE, 9, np.float64))
    assert target_store(out, data, truth, SIZE, GRID, CELLS, QUIET).folder != first.folder
    assert json.loads((first.folder / 'about.json').read_text())['cells'] == CELLS


def test_every_class_has_one_group():
    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == len(set(names)) == 29
    from sapiens2.datasets.metainfo import load_metainfo
    table = coarse_table(load_metainfo('seg29')['classes'])
    assert int(table[0]) == 0 and int(table[255]) == 255 and int(table[:29].max()) == len(GROUPS) - 1
    assert coarse_table(['a', 'b']) is None


def test_depth_scores_of_a_worked_case():
    target, pred = torch.tensor([1., 2, 4, 9]).view(1, 1, 2, 2), torch.tensor([1., 3, 4, 1]).view(1, 1, 2, 2)
    mask = torch.tensor([True, True, True, False]).view(1, 1, 2, 2)
    scores = depth_scores(depth_sums(pred, target, mask))
    assert scores['rmse_m'] == pytest.approx((1 / 3)**0.5)
    assert scores['abs_rel'] == pytest.approx(0.5 / 3)
    assert scores['delta1_percent'] == pytest.approx(200 / 3)
