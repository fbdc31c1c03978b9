"""``sapiens2 serve`` in a page: it goes on behind the next commands, as in a terminal of its own."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

_NOTE = '.serving'


def serve(program: int, folder: Path, port: str, report: Callable[[int], None]) -> None:
    """Report 0 when the page of the process ``program`` can be fetched, or its exit code if it ends before that."""
    note = folder / _NOTE
    note.write_text(str(program))
    answered = False
    while not os.waitpid(program, os.WNOHANG)[0]:
        answered = answered or _fetched(f'http://127.0.0.1:{port}/')
        if answered:
            report(0)
            os.waitpid(program, 0)
            break
        time.sleep(0.2)
    else:
        report(1)
    note.unlink()


def _fetched(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as page:
            return page.status == 200
    except OSError:  # not there yet
        return False


def stop(folder: Path) -> None:
    """End the page that is served from ``folder``, as Ctrl-C does."""
    note = folder / _NOTE
    if note.exists():
        os.kill(int(note.read_text()), signal.SIGINT)
        while note.exists():
            time.sleep(0.1)
