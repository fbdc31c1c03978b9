"""Boxes of people out of a COCO JSON, matched to images.

Two layouts are read: COCO annotations (``images`` and ``annotations``) and COCO detection results (a list of
``image_id``, ``bbox``, ``score``). Images are matched by file name; a list of detections has no file names, so there an
image is matched when its name without ending is the ``image_id``, zero-padded or not. Boxes are x, y, width, height in
pixels of the upright image, that is after EXIF orientation.
"""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Optional

import numpy as np

from sapiens2.apis.person_boxes import PersonBoxes
from sapiens2.datasets.coco_json import is_crowd, objects
from sapiens2.utils.image_list import describe_missing
from sapiens2.utils.regular_file import check_regular

# No score or size of an image is larger.
_LARGEST = 1e9


def _numbers(value: Any) -> list[float]:
    """The four numbers of a ``bbox`` entry, or four NaN, which the check of boxes reports later."""
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    return numbers if len(numbers) == 4 else [float('nan')] * 4


def _parts(name: str) -> tuple[str, ...]:
    """Folders and file name, in the one Unicode form: file systems and JSON writers differ in theirs."""
    return PurePosixPath(unicodedata.normalize('NFC', name.replace('\\', '/'))).parts


@dataclass
class BoxTable:
    """Boxes of many images, looked up by the path of an image."""

    source: str
    by_id: dict[str, PersonBoxes]
    # File name -> parts of its whole path and image id; empty where the source has no file names.
    by_name: dict[str, list[tuple[tuple[str, ...], str]]] = field(default_factory=dict)

    def find(self, path: Path) -> Optional[PersonBoxes]:
        """The people of the image at ``path``; None if the table does not know the image.

        Raises:
            ValueError: if several images of the table have its name.
        """
        if not self.by_name:
            stem = unicodedata.normalize('NFC', path.stem)
            return self.by_id.get(stem, self.by_id.get(stem.lstrip('0') or '0'))
        parts = _parts(path.as_posix())
        alike = self.by_name.get(parts[-1], [])
        # 'val/a.jpg' in the table is the better match for '/data/val/a.jpg' than 'train/a.jpg' or 'a.jpg'.
        inside = [entry for entry in alike if parts[-len(entry[0]):] == entry[0]]
        depth = max((len(name) for name, _ in inside), default=0)
        matches = [entry for entry in inside if len(entry[0]) == depth] or alike
        if len(matches) > 1:
            raise ValueError(f'{self.source}: several images are called {parts[-1]!r}: '
                             + ', '.join('/'.join(name) for name, _ in matches[:4]))
        return self.by_id[matches[0][1]] if matches else None


def _number(value: Any, what: str) -> float:
    """``value``, if it is a finite number; otherwise a ValueError that says ``what`` is not."""
    if not isinstance(value, (int, float)) or not abs(value) < _LARGEST:  # NaN included
        raise ValueError(f'{what} must be a number, this is {value!r:.40}')
    return float(value)


def _person_category_ids(categories: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Ids of the categories called person; 1, COCO's own, where the file names none."""
    return [entry.get('id') for entry in categories if str(entry.get('name')).lower() == 'person'] or [1]


def _is_person(entry: Mapping[str, Any], person_ids: Sequence[Any], place: str) -> bool:
    """Regions marked as crowds are no person."""
    return entry.get('category_id', person_ids[0]) in person_ids and not is_crowd(entry, place)


def load_boxes(path: str | Path, score_thr: float = 0.0) -> BoxTable:
    """Read the people's boxes of a COCO annotation file or of a COCO detection results file.

    Args:
        score_thr: boxes with a lower score are left out; boxes without a score are kept.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is neither; it names the file and what was expected.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f'boxes (--boxes): {describe_missing(Path(path))}. It must be a JSON file in COCO '
                                'format')
    try:
        check_regular(path)
        content = json.loads(Path(path).read_text(encoding='utf-8-sig'))
    except OSError as error:
        raise ValueError(f'boxes (--boxes): {path} cannot be read: {error.strerror}. It must be a JSON file in COCO '
                         'format') from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f'{path}: boxes must be a JSON file in COCO format, but this is no JSON: {error}') from error
    if isinstance(content, Mapping) and {'images', 'annotations'} <= content.keys():
        entries, images = (objects(content[name], f'{path}: {name}') for name in ('annotations', 'images'))
        person_ids = _person_category_ids(objects(content.get('categories') or [], f'{path}: categories'))
    elif isinstance(content, list) and all(isinstance(entry, Mapping) for entry in content):
        entries, images, person_ids = content, [], [1]
    else:
        raise ValueError(f'{path}: expected COCO annotations (an object with "images" and "annotations") or COCO '
                         'detection results (a list of objects with "image_id", "bbox" and "score")')
    found: dict[str, list[tuple[list[float], float]]] = defaultdict(list)
    for number, entry in enumerate(entries):
        if 'image_id' not in entry or 'bbox' not in entry:
            raise ValueError(f'{path}: entry {number} lacks "image_id" or "bbox"')
        score = _number(entry.get('score', 1.0), f'{path}: entry {number}: score')
        if _is_person(entry, person_ids, f'{path}: entry {number}'):
            found[str(entry['image_id'])].append((_numbers(entry['bbox']), score))
    for number, image in enumerate(images):
        if 'id' not in image or not (isinstance(image.get('file_name'), str) and _parts(image['file_name'])):
            raise ValueError(f'{path}: image {number} lacks "id" or "file_name"')
    sizes = {str(image['id']): tuple(round(_number(image[side], f'{path}: image {image["id"]}: {side}'))
                                     for side in ('height', 'width'))
             for image in images if image.get('height') is not None and image.get('width') is not None}
    people = {}
    for image_id in found.keys() | {str(image['id']) for image in images}:
        kept = [(box, score) for box, score in found[image_id] if score >= score_thr]
        boxes = np.array([box for box, _ in kept], dtype=np.float64).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        scores = np.array([score for _, score in kept], dtype=np.float64)
        people[image_id] = PersonBoxes(boxes, scores, sizes.get(image_id), len(found[image_id]) - len(kept))
    by_name = defaultdict(list)
    for image in images:
        parts = _parts(image['file_name'])
        by_name[parts[-1]].append((parts, str(image['id'])))
    return BoxTable(str(path), people, dict(by_name))
