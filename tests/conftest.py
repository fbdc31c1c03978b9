"""What all tests share."""

from __future__ import annotations

import pytest
from mmengine.logging import MMLogger


@pytest.fixture(autouse=True)
def fresh_logger() -> None:
    """MMEngine's logger keeps the stream of the test that made it, which is closed when that test ends."""
    MMLogger._instance_dict.clear()
