"""Packages that are not to be imported."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from sapiens2.utils.light_imports import not_importable


def test_hidden_packages_fail_inside_the_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, 'this', raising=False)
    with not_importable('this', 'json'):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module('this')
        assert importlib.import_module('json') is sys.modules['json']  # imported before
    assert 'this' not in sys.modules


@pytest.mark.parametrize('program, heavy', [
    ("from sapiens2.cli.main import build_parser; build_parser()", {'numpy', 'cv2', 'torch', 'mmengine'}),
    ("import sapiens2.synth.make_set, sapiens2.synth.statistics, sapiens2.synth.next_steps",
     {'torch', 'mmengine', 'mmcv', 'transformers'})])
def test_what_starts_without_heavy_packages(program: str, heavy: set[str]) -> None:
    if 'synth' in program:
        pytest.importorskip('anny')
    text = f'import sys; {program}; print(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, check=True)
    assert heavy.isdisjoint(done.stdout.split())
