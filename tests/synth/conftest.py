"""What tests of generated folders share."""

from __future__ import annotations

import hashlib

import pytest


@pytest.fixture(scope='session')
def hashes():
    """Hash of each file of a folder, but of hidden ones."""

    def hash_files(root):
        return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(root.rglob('*')) if path.is_file() and not path.name.startswith('.')}

    return hash_files
