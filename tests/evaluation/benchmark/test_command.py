"""tools/benchmark.py from the command to the table, with rows that fail."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_data import write_data

ROOT = Path(__file__).parents[3]
CONFIG = str(ROOT / 'configs/seg/sapiens2-tiny_seg_folder-256x192.py')


def benchmark(*arguments: object) -> int:
    """Run tools/benchmark.py in this process; its exit code."""
    before = sys.argv
    sys.argv = ['benchmark.py', *map(str, arguments)]
    try:
        runpy.run_path(str(ROOT / 'tools/benchmark.py'), run_name='__main__')
    except SystemExit as stop:
        return stop.code
    finally:
        sys.argv = before
    raise AssertionError('the tool does not say how it ended')


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A benchmark of the truth, and of a folder that lacks a prediction."""
    write_data('seg', tmp_path / 'data')
    rows: list[dict[str, Any]] = []
    for name in ('truth', 'part | of it'):
        shutil.copytree(tmp_path / 'data/val/labels', tmp_path / name.partition(' ')[0])
        rows.append({'name': name, 'config': CONFIG, 'predictions': str(tmp_path / name.partition(' ')[0])})
    (tmp_path / 'part/2.png').unlink()
    path = tmp_path / 'spec.yml'
    path.write_text(yaml.safe_dump({'cfg_options': {'data_root': str(tmp_path / 'data')}, 'rows': rows}),
                    encoding='utf-8')
    return path


def test_a_row_that_fails_does_not_stop_the_others(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / 'out'
    assert benchmark(spec, '--out', out) == 1
    table = json.loads((out / 'table.json').read_text(encoding='utf-8'))
    truth, part = table['rows']
    assert truth['status'] == 'done' and truth['figures']['seg/mIoU_percent'] == 100 and truth['images'] == 4
    assert part['status'] == 'failed' and '2.png' in part['error'] and 'has no prediction' in part['error']
    assert table['versions']['sapiens2'] and table['hardware']['processor']
    text = (out / 'table.md').read_text(encoding='utf-8')
    assert text in capsys.readouterr().out
    line, = (line for line in text.splitlines() if line.startswith('| part'))
    assert line.startswith('| part \\| of it | - | - |') and 'failed: DataError' in line and '2.png' in line
    assert any(line.startswith('| truth | 4 | 100.00 |') for line in text.splitlines())

    first = next(out.glob('rows/truth-*/result.json')).stat().st_mtime_ns
    shutil.copy(tmp_path / 'truth/2.png', tmp_path / 'part/2.png')
    assert benchmark(spec, '--out', out) == 0
    assert next(out.glob('rows/truth-*/result.json')).stat().st_mtime_ns == first
    table = json.loads((out / 'table.json').read_text(encoding='utf-8'))
    assert [row['status'] for row in table['rows']] == ['done', 'done']
    assert 'truth: is done' in capsys.readouterr().err


def test_nothing_is_done_by_a_dry_run(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert benchmark(spec, '--out', tmp_path / 'out', '--dry-run', '--rows', 'truth') == 0
    said = capsys.readouterr().out
    assert f'truth: to be measured\n    sapiens2 test {CONFIG} --predictions {tmp_path / "truth"} ' in said
    assert 'part' not in said and not (tmp_path / 'out').exists()


def test_what_is_wrong_is_said_before_anything_runs(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert benchmark(spec, '--out', tmp_path / 'out', '--rows', 'truht') == 2
    assert "benchmark: error: --rows: unknown row: 'truht'. Did you mean 'truth'" in capsys.readouterr().err
    assert benchmark(spec, '--out', tmp_path / 'out', '--cfg-options', 'data_root=nowhere') == 2
    assert "'nowhere' does not exist" in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
