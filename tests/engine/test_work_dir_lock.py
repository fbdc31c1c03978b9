"""One training run in a work directory: a second one is refused, one that was killed is not in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from filelock import FileLock
from mmengine.config import Config
from mmengine.logging import MMLogger

from sapiens2.engine import Sapiens2Runner, work_dir_lock
from sapiens2.engine.work_dir_lock import LOCK, only_run_in
from sapiens2.utils.config import ConfigError

HOLD = '''
import sys, time
from pathlib import Path
from mmengine.logging import MMLogger
from sapiens2.engine.work_dir_lock import only_run_in
with only_run_in(sys.argv[1], MMLogger.get_instance('holder')):
    Path(sys.argv[1], 'held').touch()
    time.sleep(600)
'''


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_dir_lock, 'WAIT_SECONDS', 0.2)


def test_a_second_run_is_refused_and_writes_nothing(toy_cfg: Callable[..., Config]) -> None:
    cfg = toy_cfg('run')
    runner = Sapiens2Runner.from_cfg(cfg)
    with FileLock(Path(cfg.work_dir, LOCK)):
        with pytest.raises(ConfigError, match=f'{cfg.work_dir}: another training run.*--work-dir.*remove .*{LOCK}'):
            runner.train()
    assert not list(Path(cfg.work_dir).glob('iter_*'))
    runner.train()
    with FileLock(Path(cfg.work_dir, LOCK), timeout=0):  # given back
        assert list(Path(cfg.work_dir).glob('iter_*'))


def test_the_lock_of_a_run_that_was_killed_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, '-c', HOLD, str(tmp_path)],
                              env=dict(os.environ, PYTHONPATH=str(Path(__file__).parents[2]), OMP_NUM_THREADS='1'))
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / 'held').exists():
            assert time.monotonic() < deadline and holder.poll() is None
            time.sleep(0.05)
        with pytest.raises(ConfigError, match='another training run'), only_run_in(tmp_path, logger()):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with only_run_in(tmp_path, logger()):
            pass
    finally:
        holder.kill()


def test_where_there_are_no_locks_the_run_goes_on(tmp_path: Path) -> None:
    with mock.patch.object(FileLock, '_acquire', side_effect=OSError(38, 'Function not implemented')):
        with mock.patch.object(logger(), 'warning') as warning, only_run_in(tmp_path, logger()):
            text, = warning.call_args.args
    assert f'{tmp_path / LOCK} cannot be locked (Function not implemented)' in text


def logger() -> MMLogger:
    return MMLogger.get_instance('lock')
