"""Sharded training on 1, 2 and 4 processes equals that of a single one, and loses nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import CONFIG, finish, launch, start
from tiny_data import write_data
from torch import Tensor, distributed
from torch.distributed import checkpoint as dcp

from sapiens2.cli.main import main
from sapiens2.models.checkpoints import build_model, load_state
from sapiens2.models.checkpoints.sharded import MANIFEST, open_sharded
from sapiens2.utils.config import load_config

pytestmark = pytest.mark.dist

FSDP = {'type': 'FSDP2', 'param_dtype': 'fp32'}
# Updates of four samples each, whatever the number of processes; clipped, averaged, slower in deep layers, and with
# weights that move.
UPDATES = ('train_cfg.max_iters=4', 'val_dataloader.num_workers=0', 'param_scheduler.0.start_factor=1.0',
           'optim_wrapper.optimizer.eps=0.01', 'optim_wrapper.optimizer.lr=0.1', 'optim_wrapper.clip_grad.max_norm=0.5',
           'optim_wrapper.paramwise_cfg.layer_decay_rate=0.9',
           'default_hooks.checkpoint.interval=2', "visualizer.vis_backends=[{'type': 'LocalVisBackend'}]")
EMA = {'type': 'EMAHook', 'momentum': 0.1}


def options(data: Sequence[str], processes: int, *hooks: Mapping[str, Any], **strategy: Any) -> list[str]:
    counts = 1 if processes == 4 else 2
    chosen = [f'strategy={dict(FSDP, **strategy)}'] if processes else []
    return [*data, *UPDATES, *chosen, f'train_dataloader.batch_size={4 // (processes or 1) // counts}',
            f'optim_wrapper.accumulative_counts={counts}',
            f"custom_hooks={[dict(type='FiniteLossHook'), EMA, *hooks]}"]


def run(work_dir: Path, data: Sequence[str], processes: int, *hooks: Mapping[str, Any], resume: bool = False,
        **strategy: Any) -> list[str]:
    return launch(CONFIG, work_dir, options(data, processes, *hooks, **strategy), processes,
                  ['--resume'] if resume else [])


def fail(work_dir: Path, data: Sequence[str], *hooks: Mapping[str, Any], resume: bool = False,
         **strategy: Any) -> list[str]:
    """A run of two processes, both of which have to end with an error; what they say."""
    config = work_dir / 'config.py'
    config.write_text(f"_base_ = {str(CONFIG)!r}\ncustom_imports = dict(imports=['faults'])\n", encoding='utf-8')
    results = finish(start(config, work_dir, options(data, 2, *hooks, **strategy), 2, ['--resume'] if resume else []),
                     seconds=60)
    assert all(status != 0 for status, _ in results), results
    return [output for _, output in results]


def assert_close(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-6, msg=name)


def assert_ends_as(work_dir: Path, single: Path) -> None:
    """Weights, their averages and the optimizer's state of the last checkpoint are those of the single process."""
    expected = torch.load(single / 'iter_4.pth', weights_only=True)
    if (work_dir / 'iter_4.pth').is_file():
        found = torch.load(work_dir / 'iter_4.pth', weights_only=True)
        assert_close(found['training_weights'], expected['training_weights'])
        assert_close(found['state_dict'], expected['state_dict'])
        return
    tensors = {name: stored.read() for name, stored in open_sharded(work_dir / 'iter_4')[0].items()}
    for key in ('state_dict', 'training_weights'):
        part = {name.removeprefix(f'{key}.'): value for name, value in tensors.items() if name.startswith(f'{key}.')}
        assert_close(part, expected[key])
    moments = [value for name, value in tensors.items() if name.endswith('.exp_avg')]
    assert len(moments) == len(expected['optimizer']['state'])
    torch.testing.assert_close(torch.stack([value.norm() for value in moments]).norm(), torch.stack([
        state['exp_avg'].norm() for state in expected['optimizer']['state'].values()]).norm(), rtol=1e-4, atol=0)


def gradient_norms(work_dir: Path) -> list[float]:
    log, = work_dir.glob('*/vis_data/scalars.json')
    rows = [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()]
    return [row['grad_norm'] for row in rows if 'grad_norm' in row]


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return write_data('pose', tmp_path_factory.mktemp('fsdp2') / 'data')


@pytest.fixture(scope='module')
def single(data: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of a single process, with checkpoints after 2 and 4 iterations."""
    work_dir = tmp_path_factory.mktemp('single') / 'run'
    run(work_dir, data, 0)
    return work_dir


@pytest.fixture(scope='module')
def double(data: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sharded run of two processes, with checkpoints after 2 and 4 iterations."""
    work_dir = tmp_path_factory.mktemp('double') / 'run'
    run(work_dir, data, 2)
    return work_dir


def half(double: Path, work_dir: Path) -> Path:
    """A new work directory with the checkpoint after 2 iterations."""
    return Path(shutil.copytree(double / 'iter_2', work_dir / 'iter_2')).parent


def test_two_processes_train_as_one(single: Path, double: Path) -> None:
    assert_ends_as(double, single)
    assert len(gradient_norms(single)) == 4
    assert gradient_norms(double) == pytest.approx(gradient_norms(single), rel=1e-4)
    before, after = (load_state(double / f'iter_{number}')[0] for number in (2, 4))
    assert not torch.equal(before['backbone.blocks.0.ffn.w3.weight'], after['backbone.blocks.0.ffn.w3.weight'])


def test_two_copies_in_four_processes_train_as_one(data: list[str], single: Path, tmp_path: Path) -> None:
    run(tmp_path, data, 4, shard_size=2, async_save=True, recompute=2)
    assert_ends_as(tmp_path, single)
    assert not list(tmp_path.glob('.partial-*'))


@pytest.mark.parametrize('processes', [0, 1, 4])
def test_resumes_on_another_number_of_processes(data: list[str], single: Path, double: Path, tmp_path: Path,
                                                processes: int) -> None:
    """0 stands for a single process without a strategy."""
    run(half(double, tmp_path), data, processes, resume=True)
    assert_ends_as(tmp_path, single)


def test_resumes_from_a_run_without_sharding(data: list[str], single: Path, tmp_path: Path) -> None:
    shutil.copy(single / 'iter_2.pth', tmp_path)
    run(tmp_path, data, 2, resume=True)
    assert_ends_as(tmp_path, single)


@pytest.mark.parametrize(('saving', 'async_save'), [(False, False), (True, False), (True, True)],
                         ids=['run', 'save', 'async save'])
def test_a_killed_process_costs_the_steps_since_the_last_checkpoint(data: list[str], single: Path, tmp_path: Path,
                                                                    saving: bool, async_save: bool) -> None:
    fail(tmp_path, data, dict(type='FaultHook', rank=1, after=4 if saving else 3, saving=saving), async_save=async_save)
    assert [path.name for path in sorted(tmp_path.glob('iter_*'))] == ['iter_2']
    run(tmp_path, data, 2, resume=True)
    assert_ends_as(tmp_path, single)
    assert not list(tmp_path.glob('.partial-*'))


def test_a_full_disk_is_told_by_all(data: list[str], tmp_path: Path) -> None:
    outputs = fail(tmp_path, data, dict(type='FaultHook', rank=1, after=4, how='full', saving=True))
    for output in outputs:
        assert 'process 1 cannot write its part' in output and 'No space left' in output
    assert (tmp_path / 'iter_2' / MANIFEST).is_file() and not (tmp_path / 'iter_4').exists()
    assert len(list(tmp_path.glob('failures/*_process0000[01].txt'))) == 2


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize('damage', [flip, Path.unlink], ids=['flipped', 'missing'])
def test_damage_is_told_by_all(data: list[str], double: Path, tmp_path: Path, damage: Any) -> None:
    damage(half(double, tmp_path) / 'iter_2' / 'shard-00002-of-00002.safetensors')
    said = 'shard-00002-of-00002.safetensors' if damage is Path.unlink else 'its checksum differs'
    for output in fail(tmp_path, data, resume=True):
        assert said in output


def test_processes_that_do_not_divide(data: list[str], tmp_path: Path) -> None:
    for output in fail(tmp_path, data, shard_size=3):
        assert 'strategy.shard_size: 3 does not divide the 2 processes' in output


def test_another_model_is_told_by_all(data: list[str], double: Path, tmp_path: Path) -> None:
    half(double, tmp_path)
    for output in fail(tmp_path, [*data, 'model.decode_head.deconv_out_channels=(64, 64)'], resume=True):
        assert 'iter_2 cannot be resumed: it is of another model' in output
        assert 'decode_head.deconv_layers.0.weight is' in output


def test_converts_to_the_released_format(single: Path, double: Path, tmp_path: Path) -> None:
    target = tmp_path / 'whole.safetensors'
    assert main(['convert', str(double / 'iter_4'), str(target), '--to', 'released']) == 0
    expected = torch.load(single / 'iter_4.pth', weights_only=True)['state_dict']
    assert_close(load_state(target)[0], expected)
    model = build_model(load_config(CONFIG, {'model.backbone.arch': 'sapiens2_nano'}), double / 'iter_4', 'cpu')
    assert_close(model.state_dict(), expected)


def test_torch_reads_the_folder(single: Path, double: Path) -> None:
    name = 'backbone.blocks.0.ffn.w3.weight'
    expected = torch.load(single / 'iter_4.pth', weights_only=True)['state_dict'][name]
    state = {f'state_dict.{name}': torch.empty_like(expected)}
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(str(double / 'iter_4')), no_dist=True)
    torch.testing.assert_close(state[f'state_dict.{name}'], expected, rtol=1e-4, atol=1e-6)
    assert not distributed.is_initialized()


def test_no_storage_tokens(data: list[str], tmp_path: Path) -> None:
    launch(CONFIG, tmp_path / 'run', [*options(data, 2), 'model.backbone.num_storage_tokens=0',
                                      'train_cfg.max_iters=2'], 2)
    assert not any('storage_tokens' in name for name in open_sharded(tmp_path / 'run' / 'iter_2')[0])
