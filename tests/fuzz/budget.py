"""How many examples each property is tried on, and what an example may take."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Optional

from hypothesis import HealthCheck, settings

EXAMPLES = 'SAPIENS2_FUZZ_EXAMPLES'
# An example that takes longer hangs; those that end take milliseconds.
_SECONDS = 60
# Beside what the process has; the largest pictures that are read take three times 2**28 pixels of three bytes.
_MEMORY = 4 << 30


class Hang(BaseException):
    """No error that code may catch."""


def fuzz(few: int) -> Callable:
    """Settings of a property: ``few`` examples in the usual run, or as many as ``SAPIENS2_FUZZ_EXAMPLES`` says.

    The usual run takes the same examples each time; a campaign takes new ones.
    """
    campaign = os.environ.get(EXAMPLES)
    return settings(max_examples=int(campaign) if campaign else few, deadline=None, derandomize=not campaign,
                    database=None, suppress_health_check=list(HealthCheck))


@contextmanager
def bounded() -> Iterator[None]:
    """Time and memory that run out are errors, in place of a machine that stands still."""
    def stop(number: int, frame: Optional[FrameType]) -> None:
        raise Hang(f'an example took more than {_SECONDS} seconds')

    earlier = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == 'linux':
        pages = int(Path('/proc/self/statm').read_text(encoding='ascii').split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY, hard))
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def outcome(call: Callable[[], Any], *errors: type[Exception]) -> Any:
    """What ``call`` gives within bounds; None where it raises one of ``errors`` with a text."""
    with bounded():
        try:
            return call()
        except errors as error:
            assert str(error).strip(), f'{type(error).__name__} without a word'
            return None
