"""tools/dist_train.sh starts what has failed again, and it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import CONFIG, ROOT, SMALL, finish, free_port, start
from tiny_data import write_data

from sapiens2.engine.checkpoints import read_meta

SHARDED = f"strategy={dict(type='FSDP2', param_dtype='fp32')}"


@pytest.mark.dist
def test_starts_again_from_the_newest_checkpoint(tmp_path: Path) -> None:
    """The second process is killed in the third iteration."""
    data = write_data('pose', tmp_path / 'data')
    config = tmp_path / 'config.py'
    config.write_text(f"_base_ = {str(CONFIG)!r}\ncustom_imports = dict(imports=['faults'])\n", encoding='utf-8')
    fault = dict(type='FaultHook', rank=1, after=2, once=True)
    shared = dict(os.environ, PATH=f'{Path(sys.executable).parent}:{os.environ["PATH"]}', OMP_NUM_THREADS='1',
                  PYTHONPATH=str(ROOT / 'tests'), MAX_RESTARTS='1', LOG_DIR=str(tmp_path / 'logs'),
                  MASTER_PORT=str(free_port()))
    result = subprocess.run(
        ['bash', str(ROOT / 'tools/dist_train.sh'), str(config), '2', '--resume', '--work-dir', str(tmp_path / 'run'),
         '--cfg-options', *SMALL, *data, 'val_dataloader.num_workers=0', 'train_dataloader.batch_size=2',
         'train_cfg.max_iters=3', SHARDED, f'custom_hooks={[fault]}'],
        env=shared, text=True, capture_output=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert read_meta(tmp_path / 'run' / 'iter_3')['iter'] == 3
    logs = list((tmp_path / 'logs').rglob('stderr.log'))
    assert len(logs) == 4  # two processes, twice
    assert any('Resumed' in log.read_text(encoding='utf-8') for log in logs)


@pytest.mark.parametrize('processes', ['0', '-1', 'abc', '1.5', ''])
def test_number_of_processes_that_cannot_be(processes: str, tmp_path: Path) -> None:
    result = subprocess.run(['bash', str(ROOT / 'tools/dist_train.sh'), 'config.py', processes], text=True,
                            env=dict(os.environ, LOG_DIR=str(tmp_path / 'logs')), capture_output=True)
    assert result.returncode == 2 and 'PROCESSES must be a whole number of at least 1' in result.stderr
    assert f"got '{processes}'" in result.stderr and not (tmp_path / 'logs').exists()


def test_restarts_need_resume() -> None:
    result = subprocess.run(['bash', str(ROOT / 'tools/dist_train.sh'), 'config.py', '2'], text=True,
                            env=dict(os.environ, MAX_RESTARTS='1'), capture_output=True)
    assert result.returncode == 2 and 'needs --resume' in result.stderr


@pytest.mark.dist
def test_a_signal_to_one_process_ends_all_at_the_same_iteration(tmp_path: Path) -> None:
    data = write_data('pose', tmp_path / 'data')
    running = start(CONFIG, tmp_path / 'run', [
        *data, 'train_cfg.max_iters=100000', 'val_dataloader.num_workers=0', 'train_dataloader.batch_size=2', SHARDED,
        'default_hooks.checkpoint.interval=20', 'custom_hooks=[]'])
    try:
        deadline = time.monotonic() + 120
        while not list((tmp_path / 'run').glob('iter_20')):
            assert time.monotonic() < deadline and all(process.poll() is None for process in running)
            time.sleep(0.2)
        for _ in range(2):  # as a scheduler and torchrun do
            running[1].send_signal(signal.SIGTERM)
            time.sleep(0.01)
        results = finish(running, seconds=60)
    finally:
        for process in running:
            process.kill()
    assert [status for status, _ in results] == [130, 130], results
    newest = max(int(path.name.partition('_')[2]) for path in (tmp_path / 'run').glob('iter_*'))
    assert newest >= 20
    for _, output in results:
        assert f'{newest} iterations are saved' in output


@pytest.mark.parametrize('script', ['dist_train.sh', 'slurm_train.sh'])
def test_there_is_time_to_save_after_a_signal(script: str, tmp_path: Path) -> None:
    """A program called python (or srun) is started in place of the real one and tells what torchrun would see."""
    for name in ('python', 'srun', 'scontrol'):
        program = tmp_path / name
        program.write_text('#!/bin/sh\necho seconds=$TORCH_ELASTIC_SHUTDOWN_TIMEOUT\n', encoding='utf-8')
        program.chmod(0o755)
    for given, expected in (({}, '110'), ({'TORCH_ELASTIC_SHUTDOWN_TIMEOUT': '300'}, '300')):
        result = subprocess.run(
            ['bash', str(ROOT / 'tools' / script), 'config.py', '2'], text=True, capture_output=True, cwd=tmp_path,
            env=dict(os.environ, PATH=f'{tmp_path}:{os.environ["PATH"]}', LOG_DIR=str(tmp_path / 'logs'),
                     SAPIENS2_ROOT=str(ROOT), SLURM_JOB_NUM_NODES='1', SLURM_JOB_NODELIST='one', SLURM_JOB_ID='7',
                     **given))
        assert result.stdout.splitlines()[-1:] == [f'seconds={expected}'], result.stderr
