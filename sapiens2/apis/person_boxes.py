"""Boxes of people for pose estimation: read from a COCO JSON and matched to images, or found by a detector.

Two layouts are read: COCO annotations (``images`` and ``annotations``) and COCO detection results (a list of
``image_id``, ``bbox``, ``score``). Images are matched by file name; a list of detections has no file names, so there an
image is matched when its name without ending is the ``image_id``, zero-padded or not. Boxes are x, y, width, height in
pixels of the upright image, that is after EXIF orientation.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Optional, Union

import numpy as np

from sapiens2.datasets.coco_json import is_crowd, objects
from sapiens2.detectors.base import PersonDetector
from sapiens2.detectors.face_people import FacePeople

# No score or size of an image is larger.
_LARGEST = 1e9


@dataclass
class PersonBoxes:
    """The people of one image.

    Attributes:
        boxes: (people, 4) float64 x1, y1, x2, y2, pixels of the upright source image. Not checked.
        scores: (people,) float64; 1 where the source gives none.
        image_size: (H, W) that the source states for the image, if it does.
        below_threshold: how many more boxes were left out for their score.
    """

    boxes: np.ndarray
    scores: np.ndarray
    image_size: Optional[tuple[int, int]] = None
    below_threshold: int = 0


def whole_image(height: int, width: int) -> PersonBoxes:
    """One box that covers the image."""
    return PersonBoxes(np.array([[0, 0, width, height]], dtype=np.float64), np.ones(1))


def box_fault(box: np.ndarray, height: int, width: int) -> Optional[str]:
    """Why nothing can be found in ``box`` (4,) x1, y1, x2, y2; None for a usable box. It may reach over the edges."""
    if not np.isfinite(box).all():
        return 'has a coordinate that is not a finite number'
    if box[2] <= box[0] or box[3] <= box[1]:
        return 'is empty'
    if box[2] <= 0 or box[3] <= 0 or box[0] >= width or box[1] >= height:
        return f'lies outside the image of {width} x {height} pixels'
    # As the network's input is cut out.
    seen = np.clip(box, 0, (width, height, width, height)).astype(np.float32)
    return 'is too narrow' if (seen[2:] <= seen[:2]).any() else None


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
        ValueError: if the file is neither; it names the file and what was expected.
    """
    try:
        content = json.loads(Path(path).read_text(encoding='utf-8-sig'))
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


@dataclass
class BoxFinder:
    """Gives the people of an image.

    Attributes:
        find: from the number of an input, its path and its pixels (H, W, 3) uint8 BGR to its people, None for an
            unknown image.
        source: what messages and results call the origin of the boxes.
    """

    find: Callable[[int, Optional[Path], np.ndarray], Optional[PersonBoxes]]
    source: str


# A COCO JSON, a detector, or for each input a (people, 4) array of x1, y1, x2, y2; one array for a single input.
Boxes = Union[str, os.PathLike, PersonDetector, Sequence[Any], np.ndarray, BoxFinder]


def box_finder(
        boxes: Optional[Boxes], use_whole_image: bool, paths: Sequence[Optional[Path]],
        score_thr: float = 0.0) -> BoxFinder:
    """How the people of each input are found.

    Args:
        boxes: a COCO JSON file, a detector, or arrays of boxes; a finder is returned as it is. With None, and not the
            whole image, people are found by their faces, if what that needs is installed.
        use_whole_image: take each image for one person.
        paths: of the inputs, None for an image in memory.
        score_thr: see ``load_boxes``.

    Raises:
        ValueError: if both are given, or neither and there is no detector, if there are not as many arrays as inputs,
            if a file is to be matched with images in memory, or if it knows none of the images.
    """
    if isinstance(boxes, BoxFinder):
        return boxes
    if boxes is not None and use_whole_image:
        raise ValueError('boxes and whole_image both say where the people are: give one of them')
    if use_whole_image:
        return BoxFinder(lambda index, path, image: whole_image(*image.shape[:2]), 'whole image')
    if boxes is None:
        boxes = _default_detector()
    if isinstance(boxes, PersonDetector):
        return BoxFinder(lambda index, path, image: _detected(boxes, image, score_thr), type(boxes).__name__)
    if not isinstance(boxes, (str, os.PathLike)):
        arrays = _box_arrays(boxes, len(paths))
        return BoxFinder(lambda index, path, image: PersonBoxes(arrays[index], np.ones(len(arrays[index]))),
                         'boxes of the caller')
    if None in paths:
        raise ValueError(f'{os.fspath(boxes)}: boxes in a file are matched by file name, which images in memory lack; '
                         'give an array of boxes for each image')
    table = load_boxes(boxes, score_thr)
    # A file without any image and box is what a detector writes that has found nobody.
    if paths and table.by_id and not any(_knows(table, path) for path in paths):
        known = [name for name in table.by_name or table.by_id][:3]
        raise ValueError(f'{table.source} knows none of the {len(paths)} images: it has {", ".join(known)}, '
                         f'the inputs are {", ".join(path.name for path in paths[:3])}')
    return BoxFinder(lambda index, path, image: _find_checked(table, path, image.shape[:2]), Path(table.source).name)


def _default_detector() -> PersonDetector:
    detector = FacePeople()
    try:
        detector.setup()
    except ImportError as error:
        raise ValueError(
            'pose estimation needs to know where the people are. Give boxes (a COCO JSON with annotations or detection '
            'results; --boxes FILE on the command line), a detector (--detector), or whole_image (--whole-image), '
            f'which takes each image for one person that fills it. Without any, {error}') from error
    return detector


def _detected(detector: PersonDetector, image: np.ndarray, score_thr: float) -> PersonBoxes:
    people = detector([image])[0]
    kept = people.scores >= score_thr
    return PersonBoxes(people.boxes[kept].astype(np.float64), people.scores[kept].astype(np.float64),
                       below_threshold=int((~kept).sum()))


def _box_arrays(boxes: Sequence[Any], count: int) -> list[np.ndarray]:
    if count == 1 and np.ndim(boxes) == 2:
        boxes = [boxes]
    if len(boxes) != count:
        raise ValueError(f'boxes holds {len(boxes)} arrays for {count} images; give one for each, (people, 4) x1, y1, '
                         'x2, y2 in pixels')
    arrays = [np.asarray(array, dtype=np.float64) for array in boxes]
    arrays = [array.reshape(0, 4) if array.size == 0 else array for array in arrays]
    for index, array in enumerate(arrays):
        if array.ndim != 2 or array.shape[1] != 4:
            raise ValueError(f'boxes[{index}] has shape {array.shape}; it must be (people, 4) x1, y1, x2, y2 in pixels')
    return arrays


def _knows(table: BoxTable, path: Path) -> bool:
    try:
        return table.find(path) is not None
    except ValueError:
        return True  # known more than once: that is reported with the image


def _find_checked(table: BoxTable, path: Path, size: tuple[int, int]) -> Optional[PersonBoxes]:
    """The people of an image, if the table was made for an image of its size."""
    people = table.find(path)
    if people is not None and people.image_size not in (None, size):
        height, width = people.image_size
        raise ValueError(f'{path}: {table.source} is for an image of {width} x {height} pixels, this one has {size[1]} '
                         f'x {size[0]}; boxes must be in pixels of the upright image, after EXIF orientation')
    return people
