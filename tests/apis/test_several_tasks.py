"""Several tasks in one pass over the images, and runs that are continued."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.models.checkpoints.same_backbone import same_backbone
from sapiens2.utils.image_io import write_image

MODEL = dict(model='sapiens2_tiny', device='cpu', dtype='fp32', img_size=(64, 48))
DENSE = ('seg', 'normal', 'albedo')


@pytest.fixture(scope='module')
def weights(tmp_path_factory) -> dict[str, Path]:
    """Weights of four tasks on one backbone, and of one on another."""
    folder = tmp_path_factory.mktemp('weights')
    files, backbone = {}, None
    for number, task in enumerate((*DENSE, 'pose')):
        torch.manual_seed(number)
        model = Sapiens2Inferencer(task, weights='random', **MODEL).networks[task].model
        backbone = backbone or model.backbone
        model.backbone = backbone
        files[task] = folder / f'{task}.safetensors'
        save_file({name: tensor.clone() for name, tensor in model.state_dict().items()}, files[task])
    torch.manual_seed(9)
    model = Sapiens2Inferencer('seg', weights='random', **MODEL).networks['seg'].model
    files['other'] = folder / 'other.safetensors'
    save_file({name: tensor.clone() for name, tensor in model.state_dict().items()}, files['other'])
    return files


def photo(seed: int = 0, height: int = 50, width: int = 70) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def values(result):
    return {name: value for name, value in result.items() if isinstance(value, np.ndarray)}


def test_one_backbone_serves_several_tasks(weights):
    tasks = ('pose', *DENSE)
    together = Sapiens2Inferencer(tasks, weights={task: weights[task] for task in tasks}, **MODEL)
    calls = []
    backbone = together.networks['seg'].model.backbone
    assert all(network.model.backbone is backbone for network in together.networks.values())
    backbone.register_forward_pre_hook(lambda module, inputs: calls.append(len(inputs[0])))
    images = [photo(seed, 40 + seed) for seed in range(3)]
    results = together(images, whole_image=True, batch_size=2)
    # The mirrored crops of pose, too: three dense images and twice three crops, in batches of two.
    assert sum(calls) == 3 + 2 * 3
    assert [result['task'] for result in results] == list(tasks) * 3
    for task in tasks:
        options = dict(whole_image=True) if task == 'pose' else {}
        alone = Sapiens2Inferencer(task, weights=weights[task], **MODEL)(images, **options)
        for one, other in zip(alone, (result for result in results if result['task'] == task)):
            assert values(one).keys() == values(other).keys()
            for name, value in values(one).items():
                assert np.abs(value.astype(float) - other[name]).mean() < 0.05, name


def test_different_backbones_stay_apart(weights):
    both = Sapiens2Inferencer(('normal', 'seg'), weights={'normal': weights['normal'], 'seg': weights['other']},
                              **MODEL)
    assert both.networks['normal'].model.backbone is not both.networks['seg'].model.backbone
    assert [result['error'] for result in both(photo())] == [None, None]
    assert same_backbone(weights['seg'], weights['normal'])
    assert not same_backbone(weights['seg'], weights['other'])


def test_weights_of_a_task_that_does_not_run(weights):
    with pytest.raises(ValueError, match="weights: unknown option: 'normal'"):
        Sapiens2Inferencer('seg', weights={'normal': weights['normal']}, **MODEL)


def test_a_run_is_continued_where_it_stopped(weights, tmp_path):
    for seed in range(3):
        write_image(tmp_path / 'in' / f'{seed}.png', photo(seed))
    seg = Sapiens2Inferencer('seg', weights=weights['seg'], **MODEL)
    run = seg.iterate(tmp_path / 'in', out_dir=tmp_path / 'out', resume=True)
    next(run)
    run.close()
    first = sorted((tmp_path / 'out/seg').glob('*.npz'))
    assert first
    stamps = {path: path.stat().st_mtime_ns for path in first}
    results = seg(tmp_path / 'in', out_dir=tmp_path / 'out', resume=True)
    before = [result for result in results if result.get('finished_before')]
    assert len(before) >= 1 and all('sem_seg' not in result and Path(result['files'][0]).is_file() for result in before)
    assert stamps == {path: path.stat().st_mtime_ns for path in first}
    assert len(list((tmp_path / 'out/seg').glob('*.npz'))) == 3
    again = seg(tmp_path / 'in', out_dir=tmp_path / 'out', resume=True)
    assert all(result['finished_before'] for result in again)
    other = Sapiens2Inferencer('seg', weights=weights['other'], **MODEL)
    assert not any('finished_before' in result for result in other(tmp_path / 'in', out_dir=tmp_path / 'out',
                                                                   resume=True))
    lines = (tmp_path / 'out/seg/journal.jsonl').read_text().splitlines()
    assert sum('settings' in json.loads(line) for line in lines) == 2


def test_only_what_is_missing_of_several_tasks_is_made(weights, tmp_path):
    write_image(tmp_path / 'in' / 'a.png', photo())
    chosen = {task: weights[task] for task in ('seg', 'normal')}
    Sapiens2Inferencer('seg', weights=weights['seg'], **MODEL)(tmp_path / 'in', out_dir=tmp_path / 'out')
    results = Sapiens2Inferencer(tuple(chosen), weights=chosen, **MODEL)(
        tmp_path / 'in', out_dir=tmp_path / 'out', resume=True)
    assert [result['error'] for result in results] == [None, None]
    assert (tmp_path / 'out/normal/a.npz').is_file() and 'normal' in results[1]


def test_random_weights_are_never_finished(tmp_path):
    write_image(tmp_path / 'in' / 'a.png', photo())
    for _ in range(2):
        result, = Sapiens2Inferencer('seg', weights='random', **MODEL)(
            tmp_path / 'in', out_dir=tmp_path / 'out', resume=True)
        assert 'finished_before' not in result
