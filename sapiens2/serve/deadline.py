"""Stops a network that takes too long."""

from __future__ import annotations

import math
import time

from torch import nn

from sapiens2.serve.refusals import TookTooLong


class Deadline:
    """A point in time that work must not pass.

    A thread cannot be stopped from outside, and a process for each picture would load its network anew. So the network
    looks at the clock itself, before each of its layers.
    """

    def __init__(self) -> None:
        self._end, self._seconds, self._cancelled = math.inf, math.inf, False

    def start(self, seconds: float) -> None:
        self._end, self._seconds = time.monotonic() + seconds, seconds

    def stop(self) -> None:
        self._end = math.inf

    def cancel(self) -> None:
        """Let all work, of now and later, stop."""
        self._cancelled = True

    def check(self) -> None:
        """Raise ``TookTooLong`` if the time is up."""
        if self._cancelled:
            raise TookTooLong('The server has been stopped.')
        if time.monotonic() > self._end:
            raise TookTooLong(f'This took longer than {self._seconds:g} s and was stopped. Try a smaller picture, a '
                              'smaller model or fewer people.')

    def watch(self, network: nn.Module) -> None:
        """Let ``network`` check the time before each layer."""
        for module in network.modules():
            module.register_forward_pre_hook(lambda module, inputs: self.check())
