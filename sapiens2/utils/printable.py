"""Text that people bring, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` with escapes for what is no character: a file's name may hold line breaks and commands to terminals."""
    return ''.join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
