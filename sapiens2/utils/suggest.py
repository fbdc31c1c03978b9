"""Errors about unknown names, which offer the nearest known ones.

One rule for the whole package: a name that is not known raises ``UnknownNameError``, which is a ``KeyError`` and a
``ValueError`` at once. In configs and data files it is the error of that file, ``ConfigError`` or ``DataError``, both
of them a ``ValueError``, with the same text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnknownNameError(KeyError, ValueError):
    """A name that is none of those that would do; the text is ``unknown_name``'s."""

    def __str__(self) -> str:
        # That of a KeyError is the representation of its argument, quotes and escapes included.
        return ', '.join(map(str, self.args))


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The at most ``count`` names most like ``name``, best first; case is ignored."""
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    return [by_lower[low] for low in difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.5)]


def check_names(given: Iterable[str], known: Iterable[str], where: str, what: str = 'option') -> None:
    """Raise UnknownNameError, which begins with ``where``, for the first name in ``given`` that is no ``what``."""
    known = list(known)
    for name in given:
        if name not in known:
            raise UnknownNameError(f'{where}: {unknown_name(name, known, what)}')


def unknown_name(name: object, known: Iterable[str], what: str) -> str:
    """Say that ``name`` is no ``what``, and which known names are near (all of them when they are few)."""
    known = sorted(known)
    close = nearest(str(name), known)
    text = f'unknown {what}: {name!r}.'
    if close:
        text += ' Did you mean ' + ' or '.join(repr(item) for item in close) + '?'
    if known and (len(known) <= 12 or not close):
        shown = known[:40]
        text += ' Known: ' + ', '.join(shown) + (', ...' if len(known) > len(shown) else '') + '.'
    return text
