"""A run that is killed at any moment goes on, and what it gives in the end is what an undisturbed one gives."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

arrow = pytest.importorskip('pyarrow')
pytest.importorskip('scipy')
pytestmark = [pytest.mark.slow, pytest.mark.dist]

ROOT = Path(__file__).parents[2]
IMAGES, KILLS = 300, int(os.environ.get('SAPIENS2_TEST_KILLS', '6'))
CONFIG = '''
source = dict(type='PretrainFolderDataset', data_root={root!r})
stages = [dict(type='Decode'), dict(type='Hashes'), dict(type='Quality')]
filters = [dict(type='Limit', column='shorter_side', at_least=64)]
balance = dict(target=0.8, embedding=None, attributes=dict(brightness=[0.4, 0.5, 0.6]))
part_size = 4
shard_size = 10
'''


def make_folder(root: Path) -> None:
    """Pictures, of which some are copies, tiny or broken."""
    root.mkdir()
    for number in range(IMAGES):
        rng = np.random.default_rng(number if number % 10 else number + 1)
        picture = cv2.resize(rng.integers(0, 256, (7, 6, 3), dtype=np.uint8), (160, 200) if number % 17 else (40, 50),
                             interpolation=cv2.INTER_CUBIC)
        content = cv2.imencode('.jpg', picture)[1].tobytes()
        (root / f'{number:04d}.jpg').write_bytes(content[:len(content) // 2] if number % 29 == 28 else content)


def start(config: Path, out: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, '-m', 'sapiens2.cli', 'curate', str(config), '--out', str(out), '--workers', '2'],
        env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'), stderr=subprocess.PIPE, text=True)


def files(out: Path) -> dict[str, Path]:
    """Whole files of a run."""
    return {str(path.relative_to(out)): path for path in sorted(out.rglob('*'))
            if path.is_file() and not path.name.startswith('.') and 'index' not in path.parts}


def checked(out: Path) -> dict[str, str]:
    """What a run gives: values of scores, and bytes of everything else but the report, which has times in it."""
    result = {}
    for name, path in files(out).items():
        if name.startswith('scores/'):
            result[name] = str(arrow.parquet.read_table(path).replace_schema_metadata(None).to_pylist())
        elif name != 'report.html':
            result[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return result


def test_killed_again_and_again(tmp_path):
    import pyarrow.parquet  # noqa: F401 as arrow.parquet
    make_folder(tmp_path / 'images')
    config = tmp_path / 'config.py'
    config.write_text(CONFIG.format(root=str(tmp_path / 'images')), encoding='utf-8')
    whole = start(config, tmp_path / 'whole')
    assert whole.wait(300) == 0, whole.stderr.read()
    expected = checked(tmp_path / 'whole')

    out, rng, kills = tmp_path / 'killed', np.random.default_rng(), 0
    for _ in range(KILLS):
        there = len(files(out)) if out.exists() else 0
        moment = there + rng.integers(0, max(len(expected) - there, 1))
        process = start(config, out)
        while process.poll() is None and (not out.exists() or len(files(out)) < moment):
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
    assert checked(out) == expected

    scored = [index for name, path in files(out).items() if name.startswith('scores/')
              for index in arrow.parquet.read_table(path)['index'].to_pylist()]
    assert scored == list(range(IMAGES))
    members = []
    for name, path in files(out).items():  # a fresh partial file of a killed run may lie beside them
        if path.suffix == '.tar':
            with tarfile.open(path) as tar:
                members += tar.getnames()
    kept = arrow.parquet.read_table(out / 'selection.parquet').filter(
        arrow.compute.field('reason') == 'kept')['index'].to_pylist()
    assert sorted(int(name.split('.')[0]) for name in members) == kept
