"""Packages that are not to be imported."""

from __future__ import annotations

import importlib
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
