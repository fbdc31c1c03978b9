"""A run that is killed at any moment goes on, and what it gives in the end is what an undisturbed one gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from curation.runs import results, write_killed

parquet = pytest.importorskip('pyarrow.parquet')
pytest.importorskip('scipy')
pytestmark = [pytest.mark.slow, pytest.mark.dist]

ROOT = Path(__file__).parents[2]
IMAGES, KILLS = 300, int(os.environ.get('SAPIENS2_TEST_KILLS', '6'))


def start(config: Path, out: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, '-m', 'sapiens2.cli', 'curate', str(config), '--out', str(out), '--workers', '2'],
        env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'), stderr=subprocess.PIPE, text=True)


def written(out: Path) -> int:
    """Whole files of scores and shards."""
    return len(list(out.glob('s*/[!.]*')))


def test_killed_again_and_again(tmp_path):
    config = write_killed(tmp_path, IMAGES)
    whole = start(config, tmp_path / 'whole')
    assert whole.wait(300) == 0, whole.stderr.read()
    expected = results(tmp_path / 'whole')

    out, rng, kills = tmp_path / 'killed', np.random.default_rng(), 0
    for _ in range(KILLS):
        there = written(out)
        moment = there + rng.integers(0, max(len(expected) - there, 1))
        process = start(config, out)
        while process.poll() is None and written(out) < moment:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait(60)
        process.stderr.close()
    assert kills
    last = start(config, out)
    assert last.wait(300) == 0, last.stderr.read()
    assert results(out) == expected

    assert not list(out.rglob('.partial-*'))
    scored = [index for path in sorted((out / 'scores').iterdir())
              for index in parquet.read_table(path)['index'].to_pylist()]
    assert scored == list(range(IMAGES))
    members = []
    for path in sorted((out / 'shards').glob('*.tar')):
        with tarfile.open(path) as tar:
            members += tar.getnames()
    selection = parquet.read_table(out / 'selection.parquet').to_pylist()
    assert sorted(int(name.split('.')[0]) for name in members) == [
        row['index'] for row in selection if row['reason'] == 'kept']
