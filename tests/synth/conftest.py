"""What tests of generated folders share."""

from __future__ import annotations

import pytest
from comparisons import file_hashes


@pytest.fixture(scope='session')
def hashes():
    """Hash of each file of a folder, but of hidden ones."""
    return file_hashes
