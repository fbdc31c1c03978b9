"""tools/quickstart.py from start to end, as short as it can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sapiens2.utils.tasks import TASKS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def quickstart(out: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    return subprocess.run([sys.executable, str(ROOT / 'tools' / 'quickstart.py'), '--out', str(out), *arguments],
                          env=environment, cwd=out.parent, capture_output=True, text=True)


def test_quick_run_and_second_call(tmp_path):
    for package in ('anny', 'embreex', 'skimage'):
        pytest.importorskip(package)
    out = tmp_path / 'out'
    first = quickstart(out, '--quick')
    assert first.returncode == 0, first.stderr
    text = (out / 'report.html').read_text(encoding='utf-8')
    assert text.count('data:image/jpeg;base64,') == 5 * (4 * 3 + 2)
    assert 'This was the quick version' in text
    for task in TASKS:
        assert json.loads((out / 'figures' / f'{task}.json').read_text())
    logs = {path: path.stat().st_mtime_ns for path in (out / 'logs').iterdir()}
    assert len(logs) == 1 + 2 * len(TASKS)
    (out / 'report.html').unlink()
    assert quickstart(out, '--quick').returncode == 0
    assert (out / 'report.html').exists()
    assert {path: path.stat().st_mtime_ns for path in (out / 'logs').iterdir()} == logs

    other = quickstart(out, '--quick', '--seed', '1')
    assert other.returncode == 2 and 'seed = 0, not 1' in other.stderr
