"""What a process keeps at hand of a data set: open files and the like, which neither forks nor pickles share."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class ProcessCache:
    """The last ``limit`` things made, by key.

    A forked process starts with none, because a file that was open before would be read at one place by both.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._process = os.getpid()
        self._items: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The thing of ``key``, made if need be."""
        if self._process != os.getpid():
            self._process, self._items = os.getpid(), OrderedDict()
        if key not in self._items:
            self._items[key] = make()
            while len(self._items) > self.limit:
                self._items.popitem(last=False)
        self._items.move_to_end(key)
        return self._items[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return ProcessCache, (self.limit,)
