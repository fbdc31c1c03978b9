"""What a set should be balanced by, from what other stages have found: framing, truncation, company and light."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import cv2
import numpy as np

from sapiens2.curation.columns import Column, Record
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_STAGES
from sapiens2.utils.srgb import to_linear

# How far a person is seen below the top of the face, in heights of its box -> name; further is 'full'.
FRAMINGS = ((1.7, 'face'), (3.3, 'bust'), (6.6, 'half'))
FULL = 'full'
_AT_EDGE = 0.01  # of the picture's side: so near, a box touches the edge
_DARKEST = 1e-3  # of linear light, so that stops are finite


@CURATION_STAGES.register_module()
class Attributes(Stage):
    """Of the main person: the one with the largest face, or else the largest. Without people its columns are empty."""

    inputs = ('picture', 'height', 'person_boxes', 'face_boxes')
    outputs = {
        'framing': Column('string', "how much is seen of the main person: 'face', 'bust', 'half' or 'full'; empty "
                                    'without a face'),
        'cut_sides': Column('int32', 'edges of the picture that the box of the main person touches, 0 to 4'),
        'covered': Column('float32', 'share of the box of the main person that boxes of others cover, 0 to 1'),
        'light': Column('float32', 'mean linear light of the picture, 0 to 1'),
        'light_contrast': Column('float32', 'standard deviation of CIE L*, 0 to 50'),
        'backlight': Column('float32', 'by how many stops the surroundings are brighter than the face, or, without a '
                                       'face, than the middle of the main person; negative: a dark background'),
    }

    def run(self, records: Sequence[Record]) -> None:
        for record in records:
            picture = record['picture']
            scale = picture.shape[0] / record['height']
            people, faces = (np.asarray(record[name], dtype=np.float64).reshape(-1, 4) * scale
                             for name in ('person_boxes', 'face_boxes'))
            lightness = cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_BGR2LAB)[..., 0]
            light = luminance(picture)
            face = faces[0] if len(faces) else None
            main = _main(people, face)
            record.update(
                framing=None if face is None or main is None else framing(people[main], face),
                cut_sides=None if main is None else _cut_sides(people[main], picture.shape[:2]),
                covered=None if main is None else _covered(people, main),
                light=float(light.mean()), light_contrast=float(lightness.std()),
                backlight=None if main is None else _backlight(light, people, main, face))


def luminance(picture: np.ndarray) -> np.ndarray:
    """(H, W) float32 linear light, 0 to 1, of (H, W, 3) uint8 BGR values of sRGB."""
    return to_linear(picture) @ np.float32([0.0722, 0.7152, 0.2126])


def framing(person: np.ndarray, face: np.ndarray) -> str:
    """One of ``FRAMINGS``, or 'full', of boxes x1, y1, x2, y2 of a person and of the face."""
    seen = (person[3] - face[1]) / max(face[3] - face[1], 1e-6)
    return next((name for most, name in FRAMINGS if seen < most), FULL)


def _main(people: np.ndarray, face: Optional[np.ndarray]) -> Optional[int]:
    """Number of the main person; None without people."""
    if not len(people):
        return None
    sizes = np.prod(people[:, 2:] - people[:, :2], axis=1)
    if face is not None:
        centre = (face[:2] + face[2:]) / 2
        holds = ((people[:, :2] <= centre) & (centre <= people[:, 2:])).all(axis=1)
        if holds.any():  # the smallest that does: others stand behind or in front
            return int(np.argmin(np.where(holds, sizes, np.inf)))
    return int(np.argmax(sizes))


def _cut_sides(box: np.ndarray, size: tuple[int, int]) -> int:
    height, width = size
    edges = np.array([box[0] / width, box[1] / height, 1 - box[2] / width, 1 - box[3] / height])
    return int((edges <= _AT_EDGE).sum())


def _covered(people: np.ndarray, main: int) -> float:
    """Share of a box under the union of the others, on a grid of 32 x 32 points of it."""
    box = people[main]
    steps = (np.arange(32) + 0.5) / 32
    x, y = (box[start] + steps * (box[start + 2] - box[start]) for start in (0, 1))
    under = np.zeros((32, 32), dtype=bool)
    for other in np.delete(people, main, axis=0):
        under |= ((y >= other[1]) & (y < other[3]))[:, None] & ((x >= other[0]) & (x < other[2]))[None]
    return float(under.mean())


def _backlight(light: np.ndarray, people: np.ndarray, main: int, face: Optional[np.ndarray]) -> Optional[float]:
    """Stops; None where people leave nothing of the surroundings."""
    around = np.ones(light.shape, dtype=bool)
    for x1, y1, x2, y2 in np.rint(people).astype(int):
        around[y1:y2, x1:x2] = False
    box = people[main] if face is None else face
    centre, extent = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 4  # the middle half of each side
    (x1, y1), (x2, y2) = np.clip(np.rint((centre - extent, centre + extent)), 0, light.shape[::-1]).astype(int)
    inside = light[y1:y2, x1:x2]
    if around.mean() < 0.02 or not inside.size:
        return None
    return float(np.log2((light[around].mean() + _DARKEST) / (np.median(inside) + _DARKEST)))
