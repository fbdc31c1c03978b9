"""Where the people of each input come from: a file of boxes, a detector, arrays, or the whole image."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from sapiens2.apis.arguments import check_score
from sapiens2.apis.box_table import BoxTable, load_boxes
from sapiens2.apis.person_boxes import PersonBoxes, whole_image
from sapiens2.detectors.base import PersonDetector
from sapiens2.detectors.by_name import FACES
from sapiens2.detectors.face_people import FacePeople

_FACES_REMEDY = ('It finds people by their faces. Others: a detector (--detector), boxes (--boxes), or whole_image '
                 '(--whole-image)')


@dataclass
class BoxFinder:
    """Gives the people of an image.

    Attributes:
        find: from the number of an input, its path and its pixels (H, W, 3) uint8 BGR to its people, None for an
            unknown image.
        source: what messages and results call the origin of the boxes.
        settings: what decides which boxes are found, in JSON's types; None where nothing tells.
        remedy: what to do where nobody is found.
    """

    find: Callable[[int, Optional[Path], np.ndarray], Optional[PersonBoxes]]
    source: str
    settings: Optional[dict[str, Any]] = None
    remedy: str = ''


# A COCO JSON, a detector, or for each input a (people, 4) array of x1, y1, x2, y2; for a single input one array, or
# the four numbers of its one person.
Boxes = Union[str, os.PathLike, PersonDetector, Sequence[Any], np.ndarray, BoxFinder]


def box_finder(
        boxes: Optional[Boxes], use_whole_image: bool, paths: Optional[Sequence[Optional[Path]]],
        score_thr: float = 0.0) -> BoxFinder:
    """How the people of each input are found.

    Args:
        boxes: a COCO JSON file, a detector, or arrays of boxes; a finder is returned as it is. With None, and not the
            whole image, people are found by their faces, if what that needs is installed.
        use_whole_image: take each image for one person.
        paths: of the inputs, None for an image in memory; None if they are not known yet.
        score_thr: see ``load_boxes``.

    Raises:
        TypeError: for boxes of another kind.
        ValueError: for a threshold that is not in 0 to 1; if both are given, or neither and there is no detector, if
            there are not as many arrays as inputs, if a file is to be matched with images in memory, or if it knows
            none of the images.
    """
    if isinstance(boxes, BoxFinder):
        return boxes
    check_score(score_thr, 'box_thr')
    if boxes is not None and use_whole_image:
        raise ValueError('boxes and whole_image both say where the people are: give one of them')
    if use_whole_image:
        return BoxFinder(lambda index, path, image: whole_image(*image.shape[:2]), 'whole image',
                         {'source': 'whole image'})
    if boxes is None:
        boxes = _default_detector()
    if isinstance(boxes, PersonDetector):
        name = type(boxes).__name__
        source, remedy = (FACES, _FACES_REMEDY) if isinstance(boxes, FacePeople) else (name, '')
        return BoxFinder(lambda index, path, image: _detected(boxes, image, score_thr), source,
                         {'source': name, 'score_thr': score_thr, **_settings(boxes)}, remedy)
    if not isinstance(boxes, (str, os.PathLike)):
        if paths is None:
            raise ValueError('boxes: arrays go with a list of inputs, and inputs is an iterator: give list(inputs), or '
                             'a file of boxes or a detector')
        arrays = _box_arrays(boxes, len(paths))
        return BoxFinder(lambda index, path, image: PersonBoxes(arrays[index], np.ones(len(arrays[index]))),
                         'boxes of the caller')
    paths = paths or []
    if None in paths:
        raise ValueError(f'{os.fspath(boxes)}: boxes in a file are matched by file name, which images in memory lack; '
                         'give an array of boxes for each image')
    table = load_boxes(boxes, score_thr)
    # A file without any image and box is what a detector writes that has found nobody.
    if paths and table.by_id and not any(_knows(table, path) for path in paths):
        known = [name for name in table.by_name or table.by_id][:3]
        way = 'a list of detections names an image by its name without ending, as image_id' if not table.by_name else (
            'file_name of its "images" has to end like the path of an input')
        raise ValueError(f'{table.source} knows none of the {len(paths)} images: it has {", ".join(known)}, '
                         f'the inputs are {", ".join(path.name for path in paths[:3])}. {way[0].upper()}{way[1:]}: '
                         'change these names, or give the file that was made for these images')
    digest = hashlib.sha256(Path(boxes).read_bytes()).hexdigest()
    return BoxFinder(lambda index, path, image: _find_checked(table, path, image.shape[:2]), Path(table.source).name,
                     {'source': digest, 'score_thr': score_thr})


def _settings(detector: PersonDetector) -> dict[str, Any]:
    """Its arguments, as it keeps them."""
    return {name: value for name, value in vars(detector).items()
            if not name.startswith('_') and isinstance(value, (str, int, float, bool))}


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


def _is_list(value: Any) -> bool:
    return hasattr(value, '__len__') and not isinstance(value, str)


def _box_arrays(boxes: Any, count: int) -> list[np.ndarray]:
    if isinstance(boxes, (Mapping, bytes)) or not hasattr(boxes, '__len__'):
        raise TypeError('boxes must be a COCO JSON file, a detector, or for each image an array (people, 4) x1, y1, '
                        f'x2, y2; got {type(boxes).__name__}')
    if count == 1 and len(boxes):  # the people of one image, or one person
        boxes = [boxes] if _is_list(boxes[0]) and len(boxes[0]) and not _is_list(boxes[0][0]) else boxes
        boxes = boxes if _is_list(boxes[0]) else [[boxes]]
    if len(boxes) != count:
        raise ValueError(f'boxes holds {len(boxes)} arrays for {count} images; give one for each, (people, 4) x1, y1, '
                         'x2, y2 in pixels, an empty one for an image without people')
    arrays = []
    for index, array in enumerate(boxes):
        try:
            arrays.append(np.asarray(array, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f'boxes[{index}] must be an array of numbers, (people, 4) x1, y1, x2, y2 in pixels; this '
                             f'is {array!r:.80}') from error
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
