"""Checkpoints: safe, whole, and enough to go on exactly."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from sapiens2.engine import Sapiens2Runner, latest_checkpoint
from sapiens2.models.checkpoints import CheckpointError
from sapiens2.registry import HOOKS

ConfigMaker = Callable[..., Config]


@HOOKS.register_module(force=True)
class StopHook(Hook):
    """Breaks a run off after some iterations, as a crash does."""

    def __init__(self, after: int) -> None:
        self.after = after

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: object = None) -> None:
        if batch_idx == self.after:
            raise KeyboardInterrupt


def train(cfg: Config) -> Sapiens2Runner:
    runner = Sapiens2Runner.from_cfg(cfg)
    runner.train()
    return runner


def interrupted(cfg: Config, after: int) -> None:
    """Train until a crash ``after`` iterations; a checkpoint is written just before."""
    cfg.default_hooks.checkpoint.interval = after
    cfg.custom_hooks.append(dict(type='StopHook', after=after))
    with pytest.raises(KeyboardInterrupt):
        train(cfg)


def test_checkpoint_holds_plain_values(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg(train_cfg__val_interval=3, default_hooks__checkpoint__save_best='count',
                           default_hooks__checkpoint__rule='greater'))
    state = torch.load(Path(runner.work_dir, 'iter_6.pth'), weights_only=True)
    assert state['meta']['iter'] == 6 and state['meta']['samples'] == 12 and state['meta']['seed'] == 3
    assert state['meta']['dataset_meta']['classes'] == ('a', 'b')
    assert len(state['message_hub']['log_scalars']['train/loss']['log_history']) == 6
    assert state['message_hub']['runtime_info']['best_score'] == 10.0
    assert not list(Path(runner.work_dir).glob('.partial*'))


@pytest.mark.parametrize('counts', [1, 3])
def test_resumed_run_equals_unbroken_run(toy_cfg: ConfigMaker, counts: int) -> None:
    options = dict(optim_wrapper__accumulative_counts=counts)
    whole = train(toy_cfg('whole', **options))
    interrupted(toy_cfg('broken', **options), after=4)
    resumed = train(toy_cfg('broken', resume=True, **options))
    for name, value in whole.bare_model.state_dict().items():
        assert torch.equal(value, resumed.bare_model.state_dict()[name]), name
    assert whole.train_dataloader.dataset.read[4 * 2 * counts:] == resumed.train_dataloader.dataset.read
    for key in ('train/loss', 'train/lr', 'train/grad_norm'):
        history = [list(run.message_hub.get_scalar(key).data[0]) for run in (whole, resumed)]
        assert history[0] == history[1], key


def test_resume_takes_over_the_seed(toy_cfg: ConfigMaker) -> None:
    whole = train(toy_cfg('whole'))
    interrupted(toy_cfg('broken'), after=4)
    resumed = train(toy_cfg('broken', resume=True, randomness__seed=8))
    assert torch.equal(whole.bare_model.layer.weight, resumed.bare_model.layer.weight)


def test_resume_keeps_the_position_for_another_batch_size(toy_cfg: ConfigMaker) -> None:
    whole = train(toy_cfg('whole'))
    interrupted(toy_cfg('broken'), after=4)
    resumed = train(toy_cfg('broken', resume=True, train_dataloader__batch_size=1))
    assert resumed.train_dataloader.dataset.read == whole.train_dataloader.dataset.read[8:10]


def test_resume_without_checkpoint_starts_anew(toy_cfg: ConfigMaker) -> None:
    assert train(toy_cfg(resume=True)).iter == 6


def test_checkpoint_of_mmengine_resumes(toy_cfg: ConfigMaker) -> None:
    cfg = toy_cfg('mmengine', train_cfg=dict(type='IterBasedTrainLoop', max_iters=4, _delete_=True), custom_hooks=[])
    cfg.train_dataloader.sampler = dict(type='InfiniteSampler', shuffle=True)
    Runner.from_cfg(cfg).train()
    file = Path(cfg.work_dir, 'iter_4.pth')
    with pytest.raises(Exception, match='weights_only|Unsupported global'):
        torch.load(file, weights_only=True)
    resumed = Sapiens2Runner.from_cfg(toy_cfg(resume=True, load_from=str(file)))
    resumed.train()
    assert resumed.iter == 6 and len(resumed.train_dataloader.dataset.read) == 4
    assert len(resumed.message_hub.get_scalar('train/loss').data[0]) == 6


def test_weights_alone_cannot_be_resumed(toy_cfg: ConfigMaker, tmp_path: Path) -> None:
    runner = train(toy_cfg())
    torch.save(runner.bare_model.state_dict(), tmp_path / 'weights.pth')
    with pytest.raises(CheckpointError, match='set load_from instead of resume'):
        train(toy_cfg(resume=True, load_from=str(tmp_path / 'weights.pth')))
    train(toy_cfg('second', load_from=str(tmp_path / 'weights.pth')))


def test_trial_shorter_than_the_warm_up(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg(train_cfg__max_iters=1))
    assert len(runner.param_schedulers) == 1
    with pytest.raises(CheckpointError, match='holds 1 learning-rate schedules and the config 2'):
        train(toy_cfg(resume=True))


def test_weights_of_another_model_are_refused(toy_cfg: ConfigMaker, tmp_path: Path) -> None:
    torch.save({'layer.weight': torch.zeros(1, 5), 'layer.bias': torch.zeros(1)}, tmp_path / 'weights.pth')
    with pytest.raises(CheckpointError, match=r'layer.weight'):
        train(toy_cfg(load_from=str(tmp_path / 'weights.pth')))


def test_failed_write_leaves_the_old_checkpoint(toy_cfg: ConfigMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = train(toy_cfg())
    file = Path(runner.work_dir, 'iter_6.pth')
    before = file.read_bytes()

    def fail(state: object, path: Path) -> None:
        Path(path).write_bytes(b'half')
        raise OSError('disk full')

    monkeypatch.setattr(torch, 'save', fail)
    with pytest.raises(OSError, match='disk full'):
        runner.save_checkpoint(runner.work_dir, file.name)
    assert file.read_bytes() == before
    assert sorted(os.listdir(runner.work_dir)) == sorted({*os.listdir(runner.work_dir)} - {'.partial'})
    assert not list(Path(runner.work_dir).glob('.partial*'))


def test_what_is_not_plain_is_named(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg())
    runner.message_hub.update_info('note', object())
    with pytest.raises(TypeError, match='message_hub.runtime_info.note is a object'):
        runner.save_checkpoint(runner.work_dir, 'iter_6.pth')


def test_latest_checkpoint_counts_iterations(toy_cfg: ConfigMaker, tmp_path: Path) -> None:
    folder = Path(train(toy_cfg()).work_dir)
    state = (folder / 'iter_6.pth').read_bytes()
    for name in ('iter_9.pth', 'iter_10.pth', 'best_iter_99.pth'):
        (folder / name).write_bytes(state)
    (folder / 'last_checkpoint').unlink(missing_ok=True)
    assert latest_checkpoint(folder, pytest.fail) == folder / 'iter_10.pth'
    assert latest_checkpoint(tmp_path / 'none', pytest.fail) is None


@pytest.mark.parametrize('resume', [True, 'auto'])
def test_damaged_checkpoints_are_passed_over_aloud(toy_cfg: ConfigMaker, resume: object) -> None:
    whole = train(toy_cfg('run', default_hooks__checkpoint__interval=2))
    folder = Path(whole.work_dir)
    state = (folder / 'iter_6.pth').read_bytes()
    (folder / 'iter_6.pth').write_bytes(state[:len(state) // 2])
    (folder / 'iter_8.pth').write_bytes(bytes(len(state)))
    resumed = train(toy_cfg('run', resume=resume))
    assert torch.equal(whole.bare_model.layer.weight, resumed.bare_model.layer.weight)
    log = max(folder.glob('*/*.log')).read_text()
    for name in ('iter_6.pth', 'iter_8.pth'):
        assert f'goes on from iter_4.pth, since a newer checkpoint cannot be used. {folder / name}' in log
    for file in folder.glob('iter_*.pth'):
        file.write_bytes(b'')
    with pytest.raises(CheckpointError, match='no checkpoint in the folder can be used; move them away'):
        train(toy_cfg('run', resume=resume))


def test_automatic_resume_starts_from_load_from(toy_cfg: ConfigMaker) -> None:
    first = Path(train(toy_cfg()).work_dir, 'iter_6.pth')
    runner = train(toy_cfg('other', resume='auto', load_from=str(first)))
    assert runner.iter == 6 and len(runner.train_dataloader.dataset.read) == 12


def test_other_optimizer_is_one_message(toy_cfg: ConfigMaker) -> None:
    cfg = toy_cfg('run', default_hooks__checkpoint__interval=2)
    train(cfg)
    with pytest.raises(CheckpointError, match='state of its optimizer is of other parameter groups'):
        train(toy_cfg('run', resume=True, optim_wrapper__paramwise_cfg=dict(bias_lr_mult=2.0)))


def test_full_disk_names_the_checkpoint_and_leaves_nothing(toy_cfg: ConfigMaker,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(state: object, path: Path) -> None:
        path.write_bytes(b'half')
        raise RuntimeError('unexpected pos 64 vs 0')

    monkeypatch.setattr(torch, 'save', fail)
    cfg = toy_cfg()
    with pytest.raises(OSError, match=r'iter_6\.pth cannot be written: is the disk full\?'):
        train(cfg)
    assert not list(Path(cfg.work_dir).glob('*.pth')) and not list(Path(cfg.work_dir).glob('.partial*'))


def test_checkpoint_without_iterations_is_no_training_state(toy_cfg: ConfigMaker) -> None:
    runner = train(toy_cfg())
    path = Path(runner.work_dir, 'iter_6.pth')
    state = torch.load(path, weights_only=True)
    torch.save({**state, 'meta': {}}, path)
    with pytest.raises(CheckpointError, match="meta lacks 'iter'"):
        train(toy_cfg('again', load_from=str(path), resume=True))
