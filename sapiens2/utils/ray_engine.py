"""One function on many items, on a Ray cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar('T')
R = TypeVar('R')

_QUEUED = 4


def ray_results_of(function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R]]:
    """Each item with ``function`` of it, in the order in which they are done, as ``sapiens2.utils.parallel.results_of``.

    Uses the cluster that ``RAY_ADDRESS`` names, or all cores of this machine.

    Raises:
        ImportError: if Ray is missing.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError('the engine ray needs Ray: pip install "sapiens2[ray]"') from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    shared = ray.put(function)
    call = ray.remote(num_cpus=1)(_call)
    most = int(ray.cluster_resources().get('CPU', 1)) * _QUEUED
    waiting: dict[ray.ObjectRef, T] = {}
    items = iter(items)
    try:
        while True:
            for item in itertools.islice(items, most - len(waiting)):
                waiting[call.remote(shared, item)] = item
            if not waiting:
                return
            done, _ = ray.wait(list(waiting), num_returns=1)
            for reference in done:
                yield waiting.pop(reference), ray.get(reference)
    finally:
        for reference in waiting:
            ray.cancel(reference)


def _call(function: Callable[[T], R], item: T) -> R:
    return function(item)
