"""What all tests share."""

from __future__ import annotations

import signal

import pytest
from mmengine.logging import MMLogger

# Shells start what they run in the background deaf to Ctrl-C, and programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fresh_logger() -> None:
    """MMEngine's logger keeps the stream of the test that made it, which is closed when that test ends."""
    MMLogger._instance_dict.clear()
