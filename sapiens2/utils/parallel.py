"""One function on many items, in several processes."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.connection
import os
import pickle
import reprlib
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Optional, TypeVar

T = TypeVar('T')
R = TypeVar('R')
F = TypeVar('F')

# Items that wait for each process: enough to keep it busy, and few enough to keep in memory.
QUEUED = 4
_function: Optional[Callable[[Any], Any]] = None
_brief = reprlib.Repr()
_brief.maxother = _brief.maxstring = 160


class WorkerLostError(RuntimeError):
    """A process has ended without an answer: it was killed, or crashed."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(
            'a worker process ended without an answer while it worked on '
            f'{" or ".join(_brief.repr(item) for item in items)}. Most likely the system ended it for lack of memory: '
            'use fewer workers. If it happens with one worker, too, leave that item out and report it.')


def results_of(function: Callable[[T], R], items: Iterable[T], workers: int = 1) -> Iterator[tuple[T, R]]:
    """Each item with ``function`` of it, in the order in which they are done.

    Items are taken as they are needed, so there may be more of them than memory holds. When the caller stops, what
    waits is dropped and what runs is finished, unless it is interrupted again while it waits for that.

    Args:
        function: sent to each process once; it and what it gives must be picklable.
        items: what to call it with.
        workers: processes; up to 1 works in this one.

    Raises:
        WorkerLostError: if a process is killed; it names what was in work.
    """
    if workers <= 1:
        for item in items:
            yield item, function(item)
        return
    others = set(multiprocessing.active_children())
    # Forking a process in which OpenCV, torch or a progress bar has threads can hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context('spawn'), _start, (pickle.dumps(function),))
    waiting: dict[Future, T] = {}
    try:
        yield from as_done(items, waiting, workers * QUEUED, lambda item: pool.submit(_call, item),
                           lambda futures: wait(futures, return_when=FIRST_COMPLETED).done, Future.result)
    except BrokenProcessPool as error:
        # Of those without an answer, the processes had the first ones in hand.
        raise WorkerLostError(list(waiting.values())[:workers]) from error
    finally:
        try:
            pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            # Asked again not to wait. Processes that are left would keep this one from ending.
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise


def as_done(items: Iterable[T], waiting: dict[F, T], limit: int, submit: Callable[[T], F],
            wait_for: Callable[[Collection[F]], Iterable[F]], result: Callable[[F], R]) -> Iterator[tuple[T, R]]:
    """The loop behind ``results_of``, for anything that works on items in the background.

    Args:
        items: what there is to do.
        waiting: is kept up to date: futures and items of which no result has been given yet, oldest first.
        limit: the most of them.
        submit: starts the work on an item.
        wait_for: those of several futures that are done, at least one.
        result: of a future that is done.
    """
    items = iter(items)
    while True:
        for item in itertools.islice(items, limit - len(waiting)):
            waiting[submit(item)] = item
        if not waiting:
            return
        for future in wait_for(list(waiting)):
            value = result(future)
            yield waiting.pop(future), value


def _start(pickled: bytes) -> None:
    """Make a new process ready, with a function that is still pickled: what it is made of takes seconds to load, and
    whether the process that started this one is alive must be watched before that.
    """
    global _function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides what is finished
    end_with_parent()
    import cv2
    cv2.setNumThreads(1)
    _function = pickle.loads(pickled)


def end_with_parent() -> None:
    """See that this process ends when the one that started it is killed, which would leave it waiting for ever."""
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _call(item: Any) -> Any:
    return _function(item)
