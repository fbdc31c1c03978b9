"""Comparisons to the last bit."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch


def file_hashes(root: Path) -> dict[str, str]:
    """Hash of each file of a folder, but of hidden ones."""
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob('*')) if path.is_file() and not path.name.startswith('.')}


def assert_same(one: Any, two: Any, path: str) -> None:
    """Fail unless nested values are equal; ``path`` says where in them the failure is."""
    assert type(one) is type(two), path
    if isinstance(one, dict):
        assert one.keys() == two.keys(), path
        for key in one:
            assert_same(one[key], two[key], f'{path}.{key}')
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), path
        for index, items in enumerate(zip(one, two)):
            assert_same(*items, f'{path}.{index}')
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, two), path
    else:
        assert one == two, path
