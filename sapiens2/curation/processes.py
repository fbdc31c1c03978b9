"""Work in this process first, and in others only where there is enough of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from rich.console import Console

from sapiens2.utils.parallel import results_of

T = TypeVar('T')
R = TypeVar('R')

# Seconds that this process works alone before others are started, and of work that each of them must have: a process
# takes seconds to start, since it loads the package anew.
ALONE_SECONDS, WORTH_SECONDS = 5.0, 10.0
# So many items are worth others at once; what they take need not be found out first.
_MANY = 8


def spread(function: Callable[[T], R], items: Sequence[T], workers: int, console: Console) -> Iterator[tuple[T, R]]:
    """Each item with ``function`` of it, as ``results_of`` gives them.

    Args:
        function: sent to each process; it and what it gives must be picklable.
        items: what to call it with.
        workers: processes at most.
        console: is told when processes are started.
    """
    start, done, is_much = time.monotonic(), 0, len(items) >= _MANY
    while done < len(items) and (
            workers <= 1 or not is_much and time.monotonic() - start < ALONE_SECONDS):
        yield items[done], function(items[done])
        done += 1
    rest = items[done:]
    if not rest:
        return
    count = min(workers, len(rest))
    if done and WORTH_SECONDS:
        seconds = (time.monotonic() - start) / done * len(rest)
        count = max(1, min(count, int(seconds / WORTH_SECONDS)))
    if count > 1:
        console.print(f'starting {count} workers', highlight=False)
    with closing(results_of(function, rest, count)) as results:
        yield from results
