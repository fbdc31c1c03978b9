"""Where the files that belong to the project lie, in a clone and in an installed package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def configs_dir() -> Path:
    """The folder ``configs``: beside the package in a clone, ``sapiens2/configs`` in an installed package.

    Raises:
        FileNotFoundError: if there is neither.
    """
    # The installed one first: what lies beside an installed package belongs to others.
    candidates = (_PACKAGE / 'configs', _PACKAGE.parent / 'configs')
    for folder in candidates:
        if (folder / '_base_').is_dir():
            return folder
    raise FileNotFoundError('the folder configs/ is missing; looked at '
                            + ' and '.join(str(folder) for folder in candidates) + '. Reinstall sapiens2')
