"""Pretraining through the runner: exact resuming, what starts from what, and the weights that come out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch
from comparisons import assert_same
from mmengine.config import Config
from safetensors.torch import load_file
from small_recipes import small_pretraining, small_recipe
from tiny_data import write_data

from sapiens2.apis import init_model
from sapiens2.cli.main import main
from sapiens2.engine import Sapiens2Runner
from sapiens2.models.checkpoints import CheckpointMismatch, load_checkpoint, open_checkpoint
from sapiens2.registry import MODELS

BACKBONE = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48))


def train(cfg: Config) -> dict[str, Any]:
    """Train; the last checkpoint."""
    Sapiens2Runner.from_cfg(cfg).train()
    return torch.load(Path(cfg.work_dir, f'iter_{cfg.train_cfg.max_iters}.pth'), weights_only=True)


def rows(work_dir: Path) -> list[dict[str, Any]]:
    log = max(work_dir.glob('*/vis_data/scalars.json'), key=lambda file: file.stat().st_mtime_ns)
    return [json.loads(line) for line in log.read_text(encoding='utf-8').splitlines()]


@pytest.mark.parametrize('variant', ['', 'mae', 'cl'])
def test_ten_iterations_equal_five_and_five(variant: str, tmp_path: Path) -> None:
    data = write_data('pretrain', tmp_path / 'data', count=7)  # 7 samples, 4 an iteration
    options = dict(variant=variant, train_cfg__max_iters=10, optim_wrapper__accumulative_counts=2,
                   default_hooks__checkpoint__interval=5, train_dataloader__num_workers=2)
    whole = train(small_pretraining(data, tmp_path / 'whole', **options))
    first = tmp_path / 'whole' / 'iter_5.pth'
    resumed = train(small_pretraining(data, tmp_path / 'resumed', resume=True, load_from=str(first), **options))
    for key in ('state_dict', 'optimizer', 'param_schedulers'):
        assert_same(whole[key], resumed[key], key)
    timing = ('time', 'data_time', 'memory')
    before, after = ([{name: value for name, value in row.items() if name not in timing}
                      for row in rows(tmp_path / name) if row['step'] > 5] for name in ('whole', 'resumed'))
    assert json.dumps(before) == json.dumps(after)
    assert ('loss_mae' in after[0]) == (variant != 'cl') and ('loss_contrastive' in after[0]) == (variant != 'mae')
    start = torch.load(first, weights_only=True)['state_dict']
    moved = [name for name, value in start.items()
             if value.is_floating_point() and not torch.equal(value, whole['state_dict'][name])]
    fixed = [name for name in start if name.endswith('periods')]
    assert len(moved) + len(fixed) > 0.9 * len(start)


@pytest.fixture(scope='module')
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Options of the data, and the checkpoint of two iterations."""
    folder = tmp_path_factory.mktemp('pretrained')
    data = write_data('pretrain', folder / 'data')
    train(small_pretraining(data, folder / 'run', train_cfg__max_iters=2))
    return data, folder / 'run' / 'iter_2.pth'


def parts(checkpoint: Path) -> dict[str, dict[str, torch.Tensor]]:
    """State dicts of student and teacher."""
    state = torch.load(checkpoint, weights_only=True)['state_dict']
    return {name: {key.removeprefix(f'{name}.'): value for key, value in state.items() if key.startswith(f'{name}.')}
            for name in ('backbone', 'teacher_backbone')}


def test_teacher_is_what_a_backbone_is_filled_with(pretrained: tuple[list[str], Path], tmp_path: Path,
                                                   caplog: pytest.LogCaptureFixture) -> None:
    _, checkpoint = pretrained
    teacher = parts(checkpoint)['teacher_backbone']
    report = load_checkpoint(MODELS.build(BACKBONE), checkpoint)
    assert report.matches and 'the teacher of a pretraining run' in report.summary()
    for model in (init_model(BACKBONE, checkpoint, 'cpu'),
                  MODELS.build({**BACKBONE, 'init_cfg': dict(type='Pretrained', checkpoint=str(checkpoint))})):
        model.init_weights() if model.init_cfg else None
        assert_same(dict(model.state_dict()), teacher, 'weights')
    data = write_data('normal', tmp_path / 'data')
    cfg = small_recipe('normal', data, tmp_path / 'run', train_cfg__max_iters=1, load_from=str(checkpoint),
                       optim_wrapper__optimizer__lr=0.0)
    tuned = train(cfg)['state_dict']
    assert all(torch.equal(tuned[f'backbone.{name}'], value) for name, value in teacher.items())


def test_released_format_holds_the_teacher(pretrained: tuple[list[str], Path], tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    _, checkpoint = pretrained
    target = tmp_path / 'backbone.safetensors'
    assert main(['convert', str(checkpoint), str(target), '--to', 'released']) == 0
    assert 'the teacher of a pretraining run' in capsys.readouterr().out
    assert_same(load_file(target), parts(checkpoint)['teacher_backbone'], 'weights')
    assert open_checkpoint(target)[1].img_size == (64, 48)


def test_student_is_taken_where_there_is_no_teacher(tmp_path: Path) -> None:
    data = write_data('pretrain', tmp_path / 'data')
    state = train(small_pretraining(data, tmp_path / 'run', 'mae', train_cfg__max_iters=1))['state_dict']
    model = MODELS.build(BACKBONE)
    report = load_checkpoint(model, tmp_path / 'run' / 'iter_1.pth')
    assert report.matches and 'the student, since there is no teacher,' in report.summary()
    assert all(torch.equal(state[f'backbone.{name}'], value) for name, value in model.state_dict().items())


def test_second_stage_takes_over_everything(pretrained: tuple[list[str], Path], tmp_path: Path) -> None:
    data, checkpoint = pretrained
    cfg = small_pretraining(
        data, tmp_path / 'run', train_cfg__max_iters=1, load_from=str(checkpoint), optim_wrapper__optimizer__lr=0.0,
        optim_wrapper__optimizer__weight_decay=0.1, model__backbone__img_size=(96, 64),
        model__contrastive__momentum=0.5, model__contrastive__freeze_prototypes=0)
    cfg.train_dataloader.dataset.pipeline_options.MultiCrop.global_crops.size = (96, 64)
    before = torch.load(checkpoint, weights_only=True)['state_dict']
    after = train(cfg)['state_dict']
    assert before.keys() == after.keys() and after['contrastive.teacher_updates'] == 3
    for name, value in before.items():
        if 'teacher' in name and value.is_floating_point() and not name.endswith('periods'):
            student = before[name.replace('teacher_', 'student_' if name.startswith('contrastive') else '')]
            torch.testing.assert_close(after[name], (value + student) / 2)
        elif name.startswith(('backbone.', 'mae.')) or 'student' in name:
            assert torch.equal(after[name], value), name


def test_a_backbone_alone_starts_student_and_teacher(tmp_path: Path) -> None:
    backbone = MODELS.build(BACKBONE)
    backbone.init_weights()
    torch.save(backbone.state_dict(), tmp_path / 'backbone.pth')
    data = write_data('pretrain', tmp_path / 'data')
    cfg = small_pretraining(data, tmp_path / 'run', train_cfg__max_iters=1, optim_wrapper__optimizer__lr=0.0,
                            load_from=str(tmp_path / 'backbone.pth'))
    train(cfg)
    for state in parts(tmp_path / 'run' / 'iter_1.pth').values():
        assert_same(state, dict(backbone.state_dict()), 'weights')


def test_other_branches_do_not_fit(pretrained: tuple[list[str], Path], tmp_path: Path) -> None:
    data, checkpoint = pretrained
    cfg = small_pretraining(data, tmp_path / 'run', 'mae', train_cfg__max_iters=1, load_from=str(checkpoint))
    with pytest.raises(CheckpointMismatch, match='sapiens2 convert FILE'):
        train(cfg)


@pytest.mark.parametrize('variant, columns', [('', 3), ('cl', 2), ('dino', 3)])
def test_pictures(variant: str, columns: int, tmp_path: Path) -> None:
    data = write_data('pretrain', tmp_path / 'data')
    states = []
    for hooks in (True, False):
        cfg = small_pretraining(data, tmp_path / str(hooks), variant, train_cfg__max_iters=3)
        index = next(i for i, hook in enumerate(cfg.custom_hooks) if hook.type == 'ReconstructionPicturesHook')
        cfg.custom_hooks[index].update(interval=2, tile=64)
        if not hooks:
            cfg.custom_hooks.pop(index)
        states.append(train(cfg)['state_dict'])
    assert_same(*states, 'weights')
    files = sorted((tmp_path / 'True' / 'vis').iterdir())
    assert [file.name for file in files] == ['iter_000001.jpg', 'iter_000002.jpg', 'iter_000003.jpg']
    for file in files:
        height, width = cv2.imread(str(file)).shape[:2]
        assert columns * 64 < width < (columns + 1) * 64 and height > 2 * 64


def test_learning_rate_grows_with_the_batch(tmp_path: Path) -> None:
    data = write_data('pretrain', tmp_path / 'data')
    cfg = small_pretraining(data, tmp_path / 'run', train_cfg__max_iters=1, auto_scale_lr__enable=True,
                            auto_scale_lr__base_batch_size=256, optim_wrapper__optimizer__lr=0.256, param_scheduler=[])
    train(cfg)
    assert math.isclose(rows(tmp_path / 'run')[0]['lr'], 0.002)
