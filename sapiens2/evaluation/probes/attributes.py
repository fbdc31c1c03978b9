"""What is known of a whole picture: columns of a table, or what ``sapiens2 synth`` notes of its people."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.metainfo import load_metainfo

TABLE, IMAGE, IDENTITY = 'labels.csv', 'image', 'identity'
_SHOULDERS = ('left_shoulder', 'right_shoulder')
# Garments that say which kind of lower clothing is worn, the first that is there.
_LOWER = ('dress', 'skirt', 'shorts', 'cropped trousers', 'leggings', 'trousers')
_FEET = ('sneakers', 'boots', 'shoes', 'socks only', 'barefoot')
_GLASSES = ('glasses', 'sunglasses')
_HATS = ('beanie', 'cap', 'brimmed hat')
# Where the generator's scale of darkness, 0 to 1, goes from light to medium and from medium to dark skin.
_DARK = (0.35, 0.6)


def read_labels(root: Path) -> dict[str, dict[str, str]]:
    """``labels.csv``: picture -> its row; {} without a table.

    The column ``image`` holds paths below ``root``; ``split`` and ``identity`` are optional; every other column is an
    attribute, and an empty cell means unknown.

    Raises:
        DataError: naming the line that is wrong.
    """
    path = root / TABLE
    if not path.is_file():
        return {}
    rows: dict[str, dict[str, str]] = {}
    with path.open(newline='', encoding='utf-8-sig') as file:
        reader = csv.DictReader(file)
        if IMAGE not in (reader.fieldnames or ()):
            raise DataError(f'{path}: the first line must name the columns, one of them {IMAGE!r}; it holds '
                            f'{", ".join(reader.fieldnames or ()) or "nothing"}')
        for row in reader:
            if None in row or None in row.values():
                raise DataError(f'{path}, line {reader.line_num}: it has another number of cells than the first line')
            name = Path(row.pop(IMAGE).strip()).as_posix()
            if name in rows:
                raise DataError(f'{path}, line {reader.line_num}: {name} has a row already')
            if row.get('split', '') not in ('', 'train', 'val'):
                raise DataError(f'{path}, line {reader.line_num}: split is {row["split"]!r}; it must be train, val, or '
                                'empty in all rows')
            rows[name] = {column: cell.strip() for column, cell in row.items()}
    return rows


def synth_attributes(path: Path) -> dict[str, str]:
    """Attributes of a generated picture; those of a person only where the picture shows a single one.

    ``view`` is the side from which the person is seen, from the shoulders' places in the camera frame.
    """
    content = read_json(str(path))
    people, scene = content.get('people', []), content.get('scene', {})
    found = {'people': str(len(people))}
    found |= {name: str(scene[name]) for name in ('place', 'shot') if name in scene}
    if len(people) == 1 and isinstance(people[0].get('description'), Mapping):
        found |= _of_person(people[0]['description'])
        if 'keypoints_3d' in people[0]:
            found['view'] = _view(people[0]['keypoints_3d'])
    return found


def _of_person(person: Mapping[str, Any]) -> dict[str, str]:
    wears = set(person.get('wears', ()))
    found = {name: str(person[name]) for name in (IDENTITY, 'age_group', 'hair', 'expression')
             if name in person}
    if 'gender' in person:
        found['sex'] = 'female' if person['gender'] > 0.5 else 'male'
    if 'skin_darkness' in person:
        found['skin'] = ('light', 'medium', 'dark')[sum(person['skin_darkness'] >= limit for limit in _DARK)]
    if 'family' in person.get('pose', {}):
        found['pose'] = str(person['pose']['family'])
    found['lower_clothing'] = next((name for name in _LOWER if name in wears), 'none')
    found['feet'] = next((name for name in _FEET if name in wears), 'other')
    found['glasses'] = next((name for name in _GLASSES if name in wears), 'none')
    found['hat'] = next((name for name in _HATS if name in wears), 'none')
    return found


def _view(points: Sequence[Sequence[float]]) -> str:
    """'front', 'back', 'left' (the person's left side is seen) or 'right'."""
    names = load_metainfo('sapiens308')['keypoint_names']
    left, right = (points[names.index(name)] for name in _SHOULDERS)
    # Seen from the front, the left shoulder is to the right in the picture.
    angle = math.degrees(math.atan2(left[2] - right[2], left[0] - right[0]))
    if abs(angle) <= 45:
        return 'front'
    if abs(angle) >= 135:
        return 'back'
    return 'right' if angle > 0 else 'left'
