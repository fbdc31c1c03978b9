"""What can be wrong with data that people bring, as one error and as one record of it.

A rule about data is written once, as code that yields or raises a ``Fault``. Training raises the first fault it meets;
``sapiens2 data check`` collects them all.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Union


class Kind(enum.Enum):
    """Kinds of faults, with the words that tables use."""

    UNREADABLE = 'unreadable file'
    MISSING_FIELD = 'missing field'
    WRONG_TYPE = 'value of the wrong kind'
    WRONG_COUNT = 'wrong number of values'
    NOT_FINITE = 'NaN or infinity'
    DUPLICATE_ID = 'id used twice'
    UNKNOWN_IMAGE = 'image that is not listed'
    BOX_EMPTY = 'box without area'
    BOX_OUTSIDE = 'box outside the picture'
    POINT_OUTSIDE = 'visible key point outside the picture'
    POINT_VISIBILITY = 'v that is not 0, 1 or 2'
    SIZE = 'ground truth and picture differ in size'
    SHAPE = 'array of the wrong shape or type'
    LABEL_RANGE = 'label out of range'
    NORMAL_LENGTH = 'normals that are not unit vectors'
    NORMAL_FRAME = 'normals in another frame'
    DEPTH_UNIT = 'depth that is not in metres'
    CAMERA = 'impossible K'
    CAMERA_SIZE = 'K of another image size'
    ALBEDO_RANGE = 'albedo outside [0, 1]'
    MASK_EMPTY = 'no valid pixel'
    NO_GROUND_TRUTH = 'image without ground truth'
    AMBIGUOUS = 'two files for one thing'
    EMPTY = 'no sample'
    OTHER = 'other'
    # Possible, but seldom meant.
    POINT_BEYOND = 'hidden key point outside the picture'
    BOX_BEYOND = 'box reaches out of the picture'
    POINT_UNKNOWN = 'key points that the model lacks'
    SAME_FILE = 'picture listed twice'
    UNCHECKED = 'files that were not read'
    NO_IMAGE = 'ground truth without image'
    TURNED = 'picture turned by EXIF, size unchanged'
    LABELS_ALL_IGNORED = 'labels all ignored'
    NORMAL_DIRECTION = 'many normals face away'
    DEPTH_STRANGE = 'depth unlikely in metres'
    DEPTH_INVERSE = 'depth falls towards outlines: inverse?'
    CAMERA_STRANGE = 'unlikely K'
    ALBEDO_DARK = 'albedo nearly black'


WARNINGS = frozenset({
    Kind.POINT_BEYOND, Kind.BOX_BEYOND, Kind.POINT_UNKNOWN, Kind.SAME_FILE, Kind.UNCHECKED, Kind.NO_IMAGE,
    Kind.TURNED, Kind.LABELS_ALL_IGNORED, Kind.NORMAL_DIRECTION, Kind.DEPTH_STRANGE, Kind.DEPTH_INVERSE,
    Kind.CAMERA_STRANGE, Kind.ALBEDO_DARK})


class Place(NamedTuple):
    """Where something is wrong: a file, and what in it ('annotation 7'), if it holds many things."""

    file: str
    id: str = ''

    def __str__(self) -> str:
        return ': '.join(filter(None, self))


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        kind: what tables count it as; it says whether it is an error or a warning.
        place: file, and annotation or image id in it. Plain text counts as a file.
        message: names the field and says what is wrong with it.
        field: name of the field, for programs.
        remedy: what to do.
    """

    kind: Kind
    place: Union[Place, str]
    message: str
    field: str = ''
    remedy: str = ''

    @property
    def warning(self) -> bool:
        """Whether the data can be right: training goes on, and ``data check`` passes unless it is strict."""
        return self.kind in WARNINGS

    def __str__(self) -> str:
        text = ': '.join(filter(None, (str(self.place), self.message)))
        if not self.remedy:
            return text
        return f'{text if text.endswith("...") else text.removesuffix(".")}; {self.remedy}'


class DataError(ValueError):
    """A fault in a data set. The text names file, annotation or field, fault and remedy; ``fault`` has the parts."""

    def __init__(self, cause: Union[Fault, str]) -> None:
        # One text is enough, because a data loader rebuilds what its workers raise from the text alone.
        super().__init__(str(cause))
        self.fault = cause if isinstance(cause, Fault) else Fault(Kind.OTHER, '', cause)


def raise_fault(fault: Fault) -> None:
    """Raise ``fault`` unless it is a warning."""
    if not fault.warning:
        raise DataError(fault)


def raise_first(faults: Iterable[Fault]) -> None:
    """Raise the first of ``faults`` that is no warning; what comes after it is not looked for."""
    for fault in faults:
        raise_fault(fault)


@contextmanager
def collecting(faults: list[Fault]) -> Iterator[None]:
    """Add the fault of a ``DataError`` in the block to ``faults``; the block ends there."""
    try:
        yield
    except DataError as error:
        faults.append(error.fault)
