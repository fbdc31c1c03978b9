"""tools/train.py and tools/test.py on the tiny config of every task, with data made on the spot."""

from __future__ import annotations

import itertools
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_data import write_data

from sapiens2.utils.config import ConfigError

ROOT = Path(__file__).parents[1]
TASKS = ('pose', 'seg', 'normal', 'pointmap', 'albedo')
METRICS = {'pose': 'pose/AP', 'seg': 'seg/mIoU_percent', 'normal': 'normal/mean_deg', 'pointmap': 'pointmap/l2_m',
           'albedo': 'albedo/psnr_db'}
_RUNS = itertools.count()


def config(task: str) -> str:
    """The tiny config of a task."""
    path, = (path for path in (ROOT / 'configs' / task).glob('sapiens2-tiny_*.py') if '_synth-' not in path.name)
    return str(path)


def tool(name: str, *arguments: object) -> int:
    """Run tools/NAME.py in this process; its exit code."""
    before = sys.argv
    sys.argv = [f'{name}.py', *map(str, arguments)]
    try:
        runpy.run_path(str(ROOT / 'tools' / f'{name}.py'), run_name='__main__')
    except SystemExit as stop:
        return stop.code
    finally:
        sys.argv = before
    raise AssertionError('the tool does not say how it ended')


def options(data: list[str], iterations: int = 2, workers: int = 0) -> list[str]:
    """Options that make a run short. A name of its own keeps MMEngine's per-name state of the runs apart."""
    return ['--cfg-options', *data, f'train_cfg.max_iters={iterations}', 'train_dataloader.batch_size=2',
            f'train_dataloader.num_workers={workers}', 'val_dataloader.num_workers=0', 'test_dataloader.num_workers=0',
            'default_hooks.checkpoint.interval=1', 'default_hooks.checkpoint.max_keep_ckpts=-1',
            'default_hooks.logger.interval=1', 'model.backbone.arch=sapiens2_nano', f'experiment_name=run{next(_RUNS)}']


def weights(folder: Path, iteration: int) -> dict[str, torch.Tensor]:
    return torch.load(folder / f'iter_{iteration}.pth', weights_only=True)['state_dict']


@pytest.mark.parametrize('task', TASKS)
def test_train_and_test(task: str, tmp_path: Path) -> None:
    data, work_dir = write_data(task, tmp_path / 'data'), tmp_path / 'run'
    assert tool('train', config(task), '--work-dir', work_dir, *options(data)) == 0
    log, = work_dir.glob('*/vis_data/scalars.json')
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row['step'] for row in rows] == [1, 2, 2]
    assert all(row['loss'] > 0 and row['grad_norm'] > 0 for row in rows[:2])
    assert list(work_dir.glob('*/vis_data/events.out.tfevents.*'))
    assert (work_dir / Path(config(task)).name).is_file()

    measured = tmp_path / 'metrics.json'
    assert tool('test', config(task), work_dir / 'iter_2.pth', '--work-dir', tmp_path / 'test', '--dump', measured,
                *options(data)) == 0
    metrics = json.loads(measured.read_text())
    assert metrics[METRICS[task]] == pytest.approx(rows[2][METRICS[task]], rel=1e-4, nan_ok=True)


@pytest.mark.parametrize('variant', ['', '_mae', '_cl'])
def test_pretrain(variant: str, tmp_path: Path) -> None:
    data, work_dir = write_data('pretrain', tmp_path / 'data'), tmp_path / 'run'
    leaf = ROOT / 'configs' / 'pretrain' / f'sapiens2-tiny_pretrain_synth-256x192{variant}.py'
    short = [option for option in options(data) if not option.startswith(('val_', 'test_'))]
    assert tool('train', leaf, '--work-dir', work_dir, *short) == 0
    log, = work_dir.glob('*/vis_data/scalars.json')
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row['step'] for row in rows] == [1, 2] and all(row['loss'] > 0 for row in rows)
    assert ('loss_mae' in rows[0]) == (variant != '_cl') and ('loss_contrastive' in rows[0]) == (variant != '_mae')
    assert (work_dir / 'vis' / 'iter_000001.jpg').is_file() and (work_dir / 'iter_2.pth').is_file()


def test_test_prints_figures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_data('seg', tmp_path / 'data')
    assert tool('train', config('seg'), '--work-dir', tmp_path / 'run', *options(data, 1)) == 0
    assert capsys.readouterr().out == ''
    command = ['test', config('seg'), tmp_path / 'run' / 'iter_1.pth', '--work-dir', tmp_path / 'test']
    assert tool(*command, '--json', *options(data)) == 0
    printed = capsys.readouterr()
    metrics = json.loads(printed.out)
    assert 'Log: ' in printed.err
    assert tool(*command, *options(data)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ['figure', 'value']
    assert ['seg/mIoU_percent', f'{metrics["seg/mIoU_percent"]:.4f}'] in lines


def test_resumed_run_equals_unbroken_run(tmp_path: Path) -> None:
    """By the command; all that may differ is looked at in tests/engine/test_exact_resume.py."""
    data = write_data('pose', tmp_path / 'data')
    first, second = tmp_path / 'first', tmp_path / 'second'
    assert tool('train', config('pose'), '--work-dir', first, *options(data, 3, 2)) == 0
    assert tool('train', config('pose'), '--work-dir', second, '--resume', first / 'iter_1.pth',
                *options(data, 3, 0)) == 0
    whole, resumed = weights(first, 3), weights(second, 3)
    assert whole.keys() == resumed.keys()
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value, rtol=0, atol=1e-6, msg=name)
    assert any(not torch.equal(value, weights(first, 1)[name]) for name, value in whole.items())


def test_mixture_of_data_sets_trains(tmp_path: Path) -> None:
    for name, count in (('first', 4), ('second', 2)):
        write_data('pose', tmp_path / name, count)
    (tmp_path / 'mixed.py').write_text(f"""
_base_ = [{config('pose')!r}]
people = dict(type='CocoPoseDataset', ann_file='people.json', data_prefix=dict(img_path=''))
train_dataloader = dict(dataset=dict(
    _delete_=True, type='MixedDataset', weights=[3, 1], pipeline=_base_.train_pipeline,
    datasets=[dict(data_root={str(tmp_path / 'first')!r}, **people),
              dict(data_root={str(tmp_path / 'second')!r}, **people)]))
val_dataloader = dict(dataset=dict(data_root={str(tmp_path / 'first')!r}, ann_file='people.json'))
test_dataloader = val_dataloader
""", encoding='utf-8')
    assert tool('train', tmp_path / 'mixed.py', '--work-dir', tmp_path / 'run', *options([], 2, 1)) == 0
    assert tool('train', tmp_path / 'mixed.py', '--work-dir', tmp_path / 'again', '--resume',
                tmp_path / 'run' / 'iter_1.pth', *options([], 2)) == 0
    whole, resumed = weights(tmp_path / 'run', 2), weights(tmp_path / 'again', 2)
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value, rtol=0, atol=1e-6, msg=name)


def test_resume_without_a_path(tmp_path: Path) -> None:
    data, work_dir = write_data('pose', tmp_path / 'data'), tmp_path / 'run'
    for iterations in (1, 2):
        assert tool('train', config('pose'), '--work-dir', work_dir, '--resume', *options(data, iterations)) == 0
    state = torch.load(work_dir / 'iter_2.pth', weights_only=True)
    assert len(state['message_hub']['log_scalars']['train/loss']['log_history']) == 2
    assert state['meta']['samples'] == 4


def test_bfloat16_and_seed(tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    assert tool('train', config('pose'), '--work-dir', tmp_path / 'run', '--amp', '--seed', 5, *options(data, 1)) == 0
    state = torch.load(tmp_path / 'run' / 'iter_1.pth', weights_only=True)
    assert state['meta']['seed'] == 5 and 'BFloat16OptimWrapper' in state['meta']['cfg']
    assert state['state_dict']['backbone.patch_embed.projection.weight'].dtype == torch.float32


def test_training_starts_from_a_backbone_alone(tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    assert tool('train', config('pose'), '--work-dir', tmp_path / 'first', *options(data, 1)) == 0
    backbone = {name.removeprefix('backbone.'): value for name, value in weights(tmp_path / 'first', 1).items()
                if name.startswith('backbone.')}
    torch.save(backbone, tmp_path / 'backbone.pth')
    assert tool('train', config('pose'), '--work-dir', tmp_path / 'second', *options(data, 1),
                f'load_from={tmp_path / "backbone.pth"}', 'optim_wrapper.optimizer.lr=0') == 0
    name = 'blocks.0.attn.wq.weight'
    assert torch.equal(weights(tmp_path / 'second', 1)[f'backbone.{name}'], backbone[name])
    # A test needs the decoder, too.
    assert tool('test', config('pose'), tmp_path / 'backbone.pth', '--work-dir', tmp_path, *options(data)) == 2


@pytest.mark.parametrize('arguments, message', [
    (['configs/pose/sapiens2-tny.py'], 'does not exist. Did you mean'),
    ([config('pose')], "val_dataloader.dataset.data_root: folder 'data/coco_few' does not exist"),
    ([config('pose')], '--cfg-options data_root=PATH'),
    ([config('pose'), '--cfg-options', 'model.backbone.drop_pth=1'], "model.backbone.drop_pth: unknown argument"),
    ([config('pose'), '--cfg-options', 'modle.backbone.arch=x'], "Did you mean 'model'"),
    ([config('pose'), '--cfg-options', 'model.backbone.arch=sapiens2_2b'], "'sapiens2_2b'. Did you mean"),
    ([config('pose'), '--cfg-options', 'model.backbone.img_size=250,192'], 'divisible by 16'),
    ([config('pose'), '--cfg-options', 'optim_wrapper.optimizer.betas=3'], 'optim_wrapper: cannot be built, '),
    ([config('pose'), '--cfg-options', 'train_cfg=5'], 'train_cfg: must be a dictionary, got 5'),
    ([config('pose'), '--cfg-options', 'model.decode_head.type=5'], 'model.decode_head.type must be a name or a class, got 5'),
    ([config('pose'), '--cfg-options', 'default_hooks=5'], 'default_hooks: must be a dictionary, got 5'),
    ([config('pose'), '--resume', 'nowhere.pth'], "--resume: 'nowhere.pth' does not exist"),
    ([config('pose'), '--cfg-options', "optim_wrapper.paramwise_cfg.custom_keys={'decoder': {'lr_mult': 2}}"],
     "no parameter has 'decoder' in its name"),
    ([config('pose'), '--cfg-options', "visualizer.vis_backends=[{'type': 'WandbVisBackend'}]"], 'pip install wandb'),
    ([config('pose'), '--cfg-options', "visualizer.vis_backends=[{'type': 'MLflowVisBackend'}]"],
     'pip install mlflow'),
])
def test_wrong_input_is_one_message(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str],
                                    tmp_path: Path) -> None:
    if 'data' not in message:
        arguments = [*arguments, '--cfg-options', *write_data('pose', tmp_path / 'data'),
                     f'experiment_name=wrong{next(_RUNS)}']
    assert tool('train', *arguments, '--work-dir', tmp_path / 'run') == 2
    error = capsys.readouterr().err
    assert error.count(message) == 1 and 'Traceback' not in error


def test_traceback_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='does not exist'):
        tool('train', 'nowhere.py', '--traceback', '--work-dir', tmp_path)
    assert tool('train', 'nowhere.py', '--work-dir', tmp_path) == 2
    assert '--traceback shows where' in capsys.readouterr().err


def test_sample_that_gives_no_finite_loss_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    assert tool('train', config('pose'), '--work-dir', tmp_path / 'run', *options(data),
                'model.decode_head.loss_decode.loss_weight=1e39') == 2
    error = capsys.readouterr().err
    assert 'the loss of iteration 1 is not finite' in error and '.png' in error and 'Traceback' not in error


def test_log_is_free_of_noise(tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    command = [sys.executable, str(ROOT / 'tools' / 'train.py'), config('pose'), '--work-dir', str(tmp_path / 'run'),
               '--amp', *options(data, 1)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'))
    assert done.returncode == 0
    assert not done.stdout and len(done.stderr.splitlines()) < 20
    for word in ('FileClient', 'HardDiskBackend', 'Mismatch dtype', 'will be deprecated'):
        assert word not in done.stdout + done.stderr, word


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_stopped_run_says_how_to_go_on(number: int, tmp_path: Path) -> None:
    data, work_dir = write_data('pose', tmp_path / 'data'), tmp_path / 'run'
    command = [sys.executable, str(ROOT / 'tools' / 'train.py'), config('pose'), '--work-dir', str(work_dir),
               *options(data, 50, 2), 'default_hooks.checkpoint.interval=50']
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True,
                               env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'))
    seen = []
    for line in process.stdout:
        seen.append(line)
        if '[ 2/50]' in line:
            os.killpg(process.pid, number)  # as schedulers, containers and terminals do: to the workers, too
            break
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130, ''.join(seen) + rest
    saved, = work_dir.glob('iter_*.pth')
    last = rest.splitlines()[-1]
    assert f'saved in {saved}' in last and '--resume' in last and 'Traceback' not in rest


def test_damaged_checkpoint_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    (tmp_path / 'empty.pth').touch()
    assert tool('test', config('pose'), tmp_path / 'empty.pth', '--work-dir', tmp_path, *options(data)) == 2
    assert 'empty' in capsys.readouterr().err
