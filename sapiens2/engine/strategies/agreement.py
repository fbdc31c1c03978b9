"""Processes that go on together or stop together: an error in one of them is raised by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, TypeVar

import torch
from torch import distributed

from sapiens2.models.checkpoints import CheckpointError

Result = TypeVar('Result')
EXPECTED = (CheckpointError, OSError, ValueError)  # told to the others; anything else is a fault of the program


class PeerError(CheckpointError):
    """Another process cannot go on; it tells why."""


def on_all(action: Callable[[], Result], group: distributed.ProcessGroup) -> Result:
    """``action()`` of this process.

    Raises:
        PeerError: if it has failed in another process only; its own error otherwise.
    """
    result, error = _attempt(action)
    texts: list[Optional[str]] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(texts, error and str(error), group=group)
    return _result(result, error, {rank: text for rank, text in enumerate(texts) if text is not None})


def on_first(action: Callable[[], Result], group: distributed.ProcessGroup) -> Result:
    """``action()`` of the first process, given to all. Raises as ``on_all``."""
    message: list[Any] = [None, None]
    error = None
    if distributed.get_rank(group) == 0:
        result, error = _attempt(action)
        message = [result, error and str(error)]
    distributed.broadcast_object_list(message, src=0, group=group)
    return _result(message[0], error, {} if message[1] is None else {0: message[1]})


def any_of(value: bool, group: distributed.ProcessGroup) -> bool:
    """Whether ``value`` is true in any process."""
    flag = torch.tensor(int(value))
    distributed.all_reduce(flag, distributed.ReduceOp.MAX, group=group)
    return bool(flag)


def _attempt(action: Callable[[], Result]) -> tuple[Optional[Result], Optional[Exception]]:
    try:
        return action(), None
    except EXPECTED as error:
        return None, error


def _result(result: Any, error: Optional[Exception], texts: dict[int, str]) -> Any:
    if error is not None:
        raise error
    for rank, text in texts.items():
        raise PeerError(f'process {rank}: {text}')
    return result
