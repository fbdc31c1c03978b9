"""Files in digests, in pieces, so that their size costs no memory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sapiens2.utils.regular_file import check_regular

_BLOCK = 2**22


def add_file(digest: Any, path: Path) -> None:
    """Add the bytes of a file to a digest of hashlib.

    Raises:
        OSError: if it cannot be read.
    """
    check_regular(path)
    with path.open('rb') as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits.

    Raises:
        OSError: if it cannot be read.
    """
    digest = hashlib.sha256()
    add_file(digest, path)
    return digest.hexdigest()
