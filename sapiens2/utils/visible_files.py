"""Files of a folder without the hidden ones."""

from __future__ import annotations

from pathlib import Path


def visible_files(folder: Path, *patterns: str) -> list[Path]:
    """What matches one of the patterns of ``Path.glob`` in ``folder``, in order, each once.

    Hidden files, and all in hidden folders, are left out, as a shell's ``*`` and ``glob.glob`` do but pathlib does not:
    partial files of killed programs (``.partial-*``) and what systems leave beside files (``._NAME``, ``.DS_Store``)
    are no data.
    """
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in found
                  if not any(part.startswith('.') for part in path.relative_to(folder).parts))
