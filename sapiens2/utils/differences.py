"""In which entries two nested values differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class _NotSet:
    def __repr__(self) -> str:
        return 'not set'


# In place of a value that one of the two has not.
NOT_SET = _NotSet()


def differences(one: Any, two: Any, entry: str = '') -> Iterator[tuple[str, Any, Any]]:
    """Entries, as ``--cfg-options`` names them, with both values; an entry that one lacks is ``NOT_SET`` there.

    Args:
        one: of dictionaries, lists and plain values.
        two: what it is compared with.
        entry: under which both stand; empty for whole configs.
    """
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        keys = dict.fromkeys((*one, *two))
    elif isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        one, two = dict(enumerate(one)), dict(enumerate(two))
        keys = max(one, two, key=len)
    else:
        if one != two:
            yield entry, one, two
        return
    for key in keys:
        inside = f'{entry}.{key}' if entry else str(key)
        if key in one and key in two:
            yield from differences(one[key], two[key], inside)
        else:
            yield inside, one.get(key, NOT_SET), two.get(key, NOT_SET)
