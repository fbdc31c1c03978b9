"""What geometric steps have made of the stored rasters so far, as numbers; each raster is sampled once, at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

import cv2
import numpy as np

from sapiens2.datasets.transforms.fields import FIELDS

# Detail that is lost on the way shows if it is this much coarser than what the last size can hold.
_SHOWS = 0.95


def resize_matrix(old_size: tuple[int, int], new_size: tuple[int, int]) -> np.ndarray:
    """(3, 3) from old to new pixels between sizes (H, W): pixel areas are scaled, centres are at integers."""
    scale_y, scale_x = new_size[0] / old_size[0], new_size[1] / old_size[1]
    return np.array([[scale_x, 0, scale_x / 2 - 0.5], [0, scale_y, scale_y / 2 - 0.5], [0, 0, 1]])


def shift_matrix(right: float, down: float) -> np.ndarray:
    """(3, 3) that moves by so many pixels."""
    return np.array([[1.0, 0, right], [0, 1, down], [0, 0, 1]])


def mirror_matrix(width: int) -> np.ndarray:
    """(3, 3) that mirrors a picture of ``width`` pixels left to right."""
    return np.array([[-1.0, 0, width - 1], [0, 1, 0], [0, 0, 1]])


@dataclass(frozen=True, eq=False)
class View:
    """A window of the stored rasters, and where its pixels have got to.

    Attributes:
        box: top, left, height, width of the window, whole pixels of the stored rasters.
        size: (H, W) of the picture as it is now.
        matrix: (3, 3) from pixels of the window to pixels of the picture, pixel centres at integers.
        upright: whether ``matrix`` only stretches the window to ``size`` and perhaps mirrors it.
        detail: (x, y), the least scale that the picture had on the way, over that of the stored one. What was smaller
            once is blurred afterwards.
        turn: (3, 3) orthogonal from the stored to the present camera frame; None if the camera stays.
        sides: (256,) uint8, the present class of each stored one; None if they stay.
        fill: values outside the window by name of field, where they are not those of ``FIELDS``.
        interpolation: OpenCV's flag for the picture; None averages areas where both sides shrink and is cubic
            otherwise.
    """

    box: tuple[int, int, int, int]
    size: tuple[int, int]
    matrix: np.ndarray
    upright: bool = True
    detail: np.ndarray = field(default_factory=lambda: np.ones(2))
    turn: Optional[np.ndarray] = None
    sides: Optional[np.ndarray] = None
    fill: Mapping[str, float] = field(default_factory=dict)
    interpolation: Optional[int] = None

    @classmethod
    def whole(cls, size: tuple[int, int]) -> View:
        """Rasters of ``size`` (H, W) as they are."""
        return cls((0, 0, *size), size, np.eye(3))

    @property
    def stored_matrix(self) -> np.ndarray:
        """(3, 3) from pixels of the stored rasters to pixels of the picture."""
        return self.matrix @ shift_matrix(-self.box[1], -self.box[0])

    def resized(self, size: tuple[int, int], interpolation: Optional[int] = None) -> View:
        """Stretched to ``size`` (H, W)."""
        matrix = resize_matrix(self.size, size) @ self.matrix
        return replace(self, size=tuple(size), matrix=matrix, detail=np.minimum(self.detail, _scale(matrix)),
                       interpolation=interpolation)

    def coarsened(self, factor: float) -> View:
        """Where the picture, but no other raster, was smaller by ``factor`` in between."""
        return replace(self, detail=np.minimum(self.detail, factor * _scale(self.matrix)))

    def cropped(self, top: int, left: int, height: int, width: int) -> View:
        """Cut to these pixels.

        While upright, the edges move to the nearest edges of stored pixels, and the part between them is stretched to
        the size asked for: then a slice and one resize give it exactly.
        """
        if not self.upright:
            return replace(self, size=(height, width), matrix=shift_matrix(-left, -top) @ self.matrix)
        mirrored = self.matrix[0, 0] < 0
        left = self.size[1] - left - width if mirrored else left
        first_row, rows = _whole_pixels(top, height, self.size[0], self.box[2])
        first_column, columns = _whole_pixels(left, width, self.size[1], self.box[3])
        matrix = resize_matrix((rows, columns), (height, width))
        return replace(self, box=(self.box[0] + first_row, self.box[1] + first_column, rows, columns),
                       size=(height, width), matrix=mirror_matrix(width) @ matrix if mirrored else matrix)

    def mirrored(self, sides: np.ndarray, turn: np.ndarray) -> View:
        """Mirrored left to right."""
        return replace(self, matrix=mirror_matrix(self.size[1]) @ self.matrix, turn=_after(turn, self.turn),
                       sides=sides if self.sides is None else sides[self.sides])

    def rotated(self, matrix: np.ndarray, turn: np.ndarray, fill: Mapping[str, float]) -> View:
        """Moved by ``matrix`` in a frame that stays, outside of which is ``fill``. Only once, and from upright."""
        if not self.upright:
            raise ValueError('a rotated view must be settled before it is rotated again: its corners are filled')
        return replace(self, matrix=matrix @ self.matrix, upright=False, turn=_after(turn, self.turn), fill=fill)

    def sample(self, name: str, raster: np.ndarray) -> np.ndarray:
        """What field ``name``, stored as ``raster`` (H, W) or (H, W, C), looks like in this view."""
        kind = FIELDS[name]
        top, left, height, width = self.box
        part, matrix = raster[top:top + height, left:left + width], self.matrix
        if name == 'img' and self._loses_detail():
            small = tuple(max(1, round(side * share)) for side, share in
                          zip(part.shape, np.minimum(self.detail[::-1], 1)))
            matrix = matrix @ np.linalg.inv(resize_matrix((height, width), small))
            part = cv2.resize(part, small[::-1], interpolation=cv2.INTER_AREA)
        if self.upright:
            part = _stretch(part, self.size, self._picture_flag(part) if name == 'img' else kind.interpolation)
            part = cv2.flip(part, 1) if matrix[0, 0] < 0 else part
        else:
            value = self.fill.get(name, kind.pad_value)
            part = cv2.warpAffine(part, matrix[:2], self.size[::-1], flags=kind.warp_interpolation,
                                  borderMode=cv2.BORDER_CONSTANT, borderValue=[value] * 4)
        if self.sides is not None and kind.has_sides:
            part = cv2.LUT(part, self.sides)
        if self.turn is not None and kind.is_vector:
            part = cv2.transform(part, self.turn)
        return np.ascontiguousarray(part)

    def _loses_detail(self) -> bool:
        """Whether the picture must be made smaller before it gets its size.

        A stretch to a smaller size averages areas itself; a warp does not.
        """
        needed = np.minimum(_scale(self.matrix), 1) if self.upright else np.ones(2)
        return bool((self.detail < _SHOWS * needed).any())

    def _picture_flag(self, part: np.ndarray) -> int:
        if self.interpolation is not None:
            return self.interpolation
        shrinks = self.size[0] < part.shape[0] and self.size[1] < part.shape[1]
        return cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC


def _scale(matrix: np.ndarray) -> np.ndarray:
    """(x, y) lengths that one step along each axis has after ``matrix``."""
    return np.linalg.norm(matrix[:2, :2], axis=0)


def _whole_pixels(start: int, length: int, now: int, stored: int) -> tuple[int, int]:
    """Start and length, among ``stored`` pixels, of the span that is ``start`` and ``length`` among ``now``."""
    first = min(round(start * stored / now), stored - 1)
    return first, max(1, round((start + length) * stored / now) - first)


def _after(turn: np.ndarray, before: Optional[np.ndarray]) -> np.ndarray:
    return turn if before is None else turn @ before


def _stretch(raster: np.ndarray, size: tuple[int, int], interpolation: int) -> np.ndarray:
    return raster if raster.shape[:2] == size else cv2.resize(raster, size[::-1], interpolation=interpolation)
