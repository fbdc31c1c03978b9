"""What a folder of results was made of, in a file beside them, and whether it still fits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.differences import differences

NOTES = 'curation.json'
# Entries that scores depend on -> their type.
_MADE_OF = {'images': int, 'names': str, 'part_size': int, 'stages': list}
_OF_SOURCE = ('images', 'names')


def read_notes(path: Path) -> Optional[dict[str, Any]]:
    """What was noted; None if nothing was.

    Raises:
        ValueError: naming the file, if it is damaged.
    """
    if not path.exists():
        return None
    try:
        notes = json.loads(path.read_text(encoding='utf-8'))
        wrong = '' if isinstance(notes, dict) else 'it holds no dictionary'
    except ValueError as error:
        wrong = str(error)
    if not wrong:
        wrong = ', '.join(f'{name} is missing or no {kind.__name__}' for name, kind in _MADE_OF.items()
                          if not isinstance(notes.get(name), kind))
    if wrong:
        raise ValueError(f'{path}: is damaged ({wrong}). Remove it, and give the command with all steps again: scores '
                         'that fit are kept')
    return notes


def write_notes(path: Path, made_of: Mapping[str, Any]) -> None:
    """Note what the scores are made of."""
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(made_of, indent=2), encoding='utf-8')


def check_notes(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """See that scores that are there are those of the same images, parts and stages.

    Args:
        path: of the notes.
        before: what was noted.
        now: what the run is made of; entries that are not there are not compared.

    Raises:
        ValueError: saying what differs, and what to do.
    """
    found = [f'{entry}: {there!r} there, {here!r} now' for name in _MADE_OF if name in now and name not in _OF_SOURCE
             for entry, there, here in differences(before[name], now[name], name)]
    if found:
        raise ValueError(f'{path.parent}: holds scores that were made with other part_size or stages: '
                         f'{"; ".join(found)}. Give another --out to score anew; filters, duplicates, balance and '
                         'shards can be changed in the same folder')
    if any(name in now and before[name] != now[name] for name in _OF_SOURCE):
        count = '' if before['images'] == now['images'] else f' ({before["images"]:,} then, {now["images"]:,} now)'
        raise ValueError(f'{path.parent}: holds scores that were made of other images{count}. Give another --out to '
                         'score these, or --steps select write report to go on with what was scored')
