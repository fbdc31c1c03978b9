"""The environment report, and the command itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sapiens2.cli import main as cli
from sapiens2.utils import environment
from sapiens2.version import __version__

ROOT = Path(__file__).parents[2]


def test_report_names_versions_devices_and_the_remedy(capsys, monkeypatch):
    missing = environment.Need(('no-such-package-of-ours',), 'nothing', 'demo')
    monkeypatch.setattr(environment, 'OPTIONAL', (missing,))
    monkeypatch.setattr(environment, 'package_problems', lambda: [])
    monkeypatch.setattr(environment, 'torch_problems', lambda: [])
    assert cli.main(['doctor']) == 0
    report = capsys.readouterr().out
    assert __version__ in report and 'torch build' in report and 'configs' in report
    assert f'missing  (nothing): {sys.executable} -m pip install -e "{ROOT}[demo]"' in report
    assert 'No problems found.' in report


def test_two_opencvs_and_a_missing_package_are_problems(capsys, monkeypatch):
    versions = {'opencv-python': '5.0', 'opencv-python-headless': '4.9'}
    monkeypatch.setattr(environment, 'version_of', versions.get)
    problems = environment.package_problems()
    assert any('opencv-python-headless 4.9 and opencv-python 5.0 are installed together' in text
               and text.endswith('pip install --no-deps opencv-python-headless==4.9') for text in problems)
    assert any(text.startswith('missing: torch, mmengine, mmcv-lite') and text.endswith(f'-e "{ROOT}[lite]"')
               for text in problems)
    versions['opencv-python'] = '4.9'
    assert not any('together' in text for text in environment.package_problems())
    assert cli.main(['doctor']) == 1
    assert 'Problems' in capsys.readouterr().out


def test_a_remedy_never_brings_an_opencv_of_another_version(monkeypatch):
    """mmcv-lite asks for opencv-python; pip would take the newest beside a headless one that is older."""
    versions = {'opencv-python-headless': '4.9.0.80'}
    monkeypatch.setattr(environment, 'version_of', versions.get)
    assert environment.project_install(['lite']).endswith(f'"{ROOT}[lite]" "opencv-python==4.9.0.80"')
    versions['opencv-python'] = '4.9.0.80'
    assert environment.project_install(['lite']).endswith(f'"{ROOT}[lite]"')


def test_extras_exist():
    extras = re.search(r'EXTRAS = \((.*?)\)', (ROOT / 'setup.py').read_text(encoding='utf-8'), re.DOTALL)[1]
    for need in (*environment.REQUIRED, *environment.OPTIONAL):
        assert not need.extra or f"'{need.extra}'" in extras


def test_what_the_package_requires_is_reported():
    names = re.findall(r'^([\w-]+)', (ROOT / 'requirements' / 'runtime.txt').read_text(encoding='utf-8'), re.MULTILINE)
    assert {*names, 'mmcv-lite'} == {need.distributions[0] for need in environment.REQUIRED}


def test_a_package_that_does_not_import_is_a_problem(monkeypatch):
    monkeypatch.setattr(environment.importlib, 'import_module', lambda name: 1 / 0)
    assert any('cv2 does not import: ZeroDivisionError' in text for text in environment.package_problems())


def test_memory_and_cores_are_plausible():
    total, available = environment.memory_gib()
    assert total is None or 0 < total < 1e5
    assert total is None or available is None or 0 <= available <= total
    assert environment.usable_cores() >= 1


def test_unknown_verb_offers_the_nearest(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(['docter'])
    assert stop.value.code == 2
    assert "Did you mean 'doctor'" in capsys.readouterr().err


def test_help_does_not_import_torch():
    code = 'import sys; from sapiens2.cli.main import build_parser; build_parser(); sys.exit("torch" in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0


def test_errors_become_one_line_unless_asked_for(capsys, tmp_path):
    argv = ['infer', 'seg', str(tmp_path / 'nothing.jpg'), '--weights', 'random', '--out', str(tmp_path / 'out')]
    assert cli.main(argv) == 2
    captured = capsys.readouterr().err
    assert 'nothing.jpg: no such file' in captured and 'Traceback' not in captured
    with pytest.raises(FileNotFoundError):
        cli.main(['--traceback', *argv])
