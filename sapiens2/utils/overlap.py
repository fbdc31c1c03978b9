"""Steps of a chain that work at the same time, in threads of this process, with few items between them."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar('T')
R = TypeVar('R')

_END = object()
# Seconds between two looks at whether the consumer is still there, and for which a step may finish its last item.
_LOOK, _FINISH = 0.1, 10


def ahead(function: Callable[[T], R], items: Iterable[T], workers: int, limit: int) -> Iterator[R]:
    """``function`` of each item, in order, computed in threads before they are asked for.

    Args:
        workers: threads.
        limit: the most items of which no result has been taken yet.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                while waiting and (len(waiting) >= limit or waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def in_background(items: Iterable[T], limit: int) -> Iterator[T]:
    """``items``, taken in a thread, at most ``limit`` of them before they are asked for.

    What the items raise is raised here, in its place. When the consumer stops, so does the thread.
    """
    ready: queue.Queue[tuple[Any, Any]] = queue.Queue(limit)
    stopped = threading.Event()

    def put(entry: tuple[Any, Any]) -> None:
        while not stopped.is_set():
            try:
                return ready.put(entry, timeout=_LOOK)
            except queue.Full:
                continue

    def work() -> None:
        source = iter(items)
        try:
            while not stopped.is_set():
                put((next(source), None))
        except StopIteration:
            put((_END, None))
        except BaseException as error:
            put((_END, error))
        finally:
            close = getattr(source, 'close', None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        thread.join(_FINISH)
