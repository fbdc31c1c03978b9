"""Lists in messages, cut short."""

from __future__ import annotations

from collections.abc import Sequence


def first_few(items: Sequence[str], count: int = 5) -> list[str]:
    """The first ``count`` of ``items``, and how many more there are."""
    return [*items[:count], *([f'and {len(items) - count} more'] if len(items) > count else [])]
