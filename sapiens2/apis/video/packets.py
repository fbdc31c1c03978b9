"""Packets of a file of FFmpeg's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sapiens2.apis.video.extra import import_av


def packets_of(container: Any, stream: Any, problems: list[str], what: str) -> Iterator[Any]:
    """Packets of a stream up to its end, or to where reading fails: ``problems`` then takes ``what`` and the reason."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except import_av().FFmpegError as error:
            problems.append(f'{what}: {error.strerror}')
            return
        yield packet
