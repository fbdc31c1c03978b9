"""Reading of JSON files that people bring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sapiens2.datasets.errors import DataError, Fault, Kind


def read_json(path: str) -> Any:
    """Parse a JSON file.

    Raises:
        DataError: naming the file, if it is missing or no JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding='utf-8-sig'))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(Fault(Kind.UNREADABLE, path, f'cannot be read as JSON: {error}')) from error
