"""One function on many items, on a Ray cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from sapiens2.utils.parallel import QUEUED, WorkerLostError, as_done

T = TypeVar('T')
R = TypeVar('R')


def start_ray(extra: str) -> ModuleType:
    """Ray, in the cluster that ``RAY_ADDRESS`` names, or started with all cores of this machine.

    Args:
        extra: of this package, that installs what is needed of Ray.

    Raises:
        ImportError: if Ray is missing.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError(f'the engine ray needs Ray ({error}): pip install "sapiens2[{extra}]"') from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level=logging.WARNING)
    return ray


def ray_results_of(function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R]]:
    """Each item with ``function`` of it as they are done, like ``sapiens2.utils.parallel.results_of``.

    Raises:
        ImportError: if Ray is missing.
        WorkerLostError: if a process is killed, and again in each of Ray's own tries.
    """
    ray = start_ray('ray')
    shared = ray.put(function)
    call = ray.remote(num_cpus=1)(_call)
    waiting: dict[ray.ObjectRef, T] = {}

    def result(reference: ray.ObjectRef) -> Any:
        try:
            return ray.get(reference)
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
            raise WorkerLostError([waiting[reference]]) from error

    try:
        yield from as_done(items, waiting, int(ray.cluster_resources().get('CPU', 1)) * QUEUED,
                           lambda item: call.remote(shared, item),
                           lambda references: ray.wait(references, num_returns=1)[0], result)
    finally:
        for reference in waiting:
            ray.cancel(reference)


def _call(function: Callable[[T], R], item: T) -> R:
    return function(item)
