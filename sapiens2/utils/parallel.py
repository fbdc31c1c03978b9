"""One function on many items, in several processes."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, Optional, TypeVar

import cv2

T = TypeVar('T')
R = TypeVar('R')

# Items that wait for each process: enough to keep it busy, and few enough to keep in memory.
_QUEUED = 4
_function: Optional[Callable[[Any], Any]] = None


def results_of(function: Callable[[T], R], items: Iterable[T], workers: int = 1) -> Iterator[tuple[T, R]]:
    """Each item with ``function`` of it, in the order in which they are done.

    Items are taken as they are needed, so there may be more of them than memory holds. When the caller stops, what waits
    is dropped and what runs is finished.

    Args:
        function: sent to each process once; it and what it gives must be picklable.
        items: what to call it with.
        workers: processes; up to 1 works in this one.
    """
    if workers <= 1:
        for item in items:
            yield item, function(item)
        return
    # Forking a process in which OpenCV, torch or a progress bar has threads can hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context('spawn'), _start, (function,))
    waiting: dict[Future, T] = {}
    items = iter(items)
    try:
        while True:
            for item in itertools.islice(items, workers * _QUEUED - len(waiting)):
                waiting[pool.submit(_call, item)] = item
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides what is finished
    cv2.setNumThreads(1)


def _call(item: Any) -> Any:
    return _function(item)
