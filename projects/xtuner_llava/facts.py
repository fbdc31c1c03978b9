"""What is said of pictures: plain facts that annotations are sure of, whatever data set they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

Point = tuple[float, float, float]  # x, y, pixels; v: 2 seen, 1 hidden, 0 not labelled or outside the picture

_HEAD = ('nose', 'left_eye', 'right_eye', 'left_ear', 'right_ear')
_FACE = _HEAD[:3]
# The lowest part that is in the picture -> how much of the person that is.
_SHOWN = {
    'ankle': 'from head to foot',
    'knee': 'from head to knees',
    'hip': 'from head to hips',
    'shoulder': 'head and shoulders',
}
_SIDES = ('left', 'right')


@dataclass(frozen=True)
class Person:
    """One person. What is not known is None.

    Attributes:
        box: x1, y1, x2, y2 as shares of the picture's width and height.
        shown: how much of the person is in the picture.
        face_seen: whether nose and both eyes are seen.
        raised: sides of the hands above their shoulders.
        does: what the person does, 'sits'.
        hair: 'short hair'.
        expression: what the face does, 'smiles'.
        wears: garments that are seen, with their articles.
    """

    box: tuple[float, float, float, float]
    shown: Optional[str] = None
    face_seen: Optional[bool] = None
    raised: Optional[tuple[str, ...]] = None
    does: Optional[str] = None
    hair: Optional[str] = None
    expression: Optional[str] = None
    wears: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """In which third of the picture the middle of the box is."""
        middle = (self.box[0] + self.box[2]) / 2
        return 'on the left' if middle < 1 / 3 else 'on the right' if middle > 2 / 3 else 'in the middle'


@dataclass(frozen=True)
class Picture:
    """A picture and who is in it.

    Attributes:
        file: path below the folder of the pictures.
        people: from left to right, as ``from_left_to_right`` sorts them.
        place: where it was taken, 'in a room'; None if that is not known.
    """

    file: str
    people: tuple[Person, ...]
    place: Optional[str] = None


def from_left_to_right(people: list[Person]) -> tuple[Person, ...]:
    """People by the middles of their boxes."""
    return tuple(sorted(people, key=lambda person: person.box[0] + person.box[2]))


def in_picture(points: Mapping[str, Point], part: str) -> bool:
    """Whether the left or right ``part`` ('hip') is in the picture, seen or hidden."""
    return any(points[f'{side}_{part}'][2] > 0 for side in _SIDES)


def shown(points: Mapping[str, Point]) -> Optional[str]:
    """How much of a person is in the picture, from the head down; None without a head."""
    if not any(points[name][2] > 0 for name in _HEAD):
        return None
    return next((text for part, text in _SHOWN.items() if in_picture(points, part)), 'the face alone')


def face_seen(points: Mapping[str, Point]) -> bool:
    """Whether nose and both eyes are seen."""
    return all(points[name][2] == 2 for name in _FACE)


def raised(points: Mapping[str, Point]) -> Optional[tuple[str, ...]]:
    """Sides of the hands that are above their shoulders; None unless wrists and shoulders are in the picture."""
    if not all(points[f'{side}_{part}'][2] > 0 for side in _SIDES for part in ('wrist', 'shoulder')):
        return None
    return tuple(side for side in _SIDES if points[f'{side}_wrist'][1] < points[f'{side}_shoulder'][1])
