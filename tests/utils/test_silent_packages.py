"""Packages that would report their use: they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# onnxruntime begins a session of reports by a file in the folder for temporary files.
_ONNX = '''from sapiens2.utils.silent_packages import import_onnxruntime
import_onnxruntime()'''
_OPENVINO = '''from sapiens2.utils.silent_packages import import_openvino
import_openvino()
from openvino.tools.ovc import telemetry_utils
assert telemetry_utils.tm.__name__.endswith('telemetry_stub'), telemetry_utils.tm'''


@pytest.mark.parametrize('package, program', [('onnxruntime', _ONNX), ('openvino', _OPENVINO)])
def test_nothing_is_reported(package: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    environment = {name: value for name, value in os.environ.items() if name != 'ORT_DISABLE_TELEMETRY'}
    subprocess.run([sys.executable, '-c', program], check=True, env=dict(environment, TMPDIR=str(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_all_imports_go_that_way() -> None:
    root = Path(__file__).parents[2]
    files = [file for folder in ('sapiens2', 'tools', 'benchmarks') for file in (root / folder).rglob('*.py')
             if file.name != 'silent_packages.py']
    lines = [line.strip() for file in files for line in file.read_text(encoding='utf-8').splitlines()]
    assert len(lines) > 10_000
    assert not [line for line in lines if line.startswith((
        'import onnxruntime', 'import openvino', 'from onnxruntime', 'from openvino'))]
