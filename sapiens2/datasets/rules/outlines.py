"""Where a surface ends against what is behind it.

At the outline of a smooth body the surface turns away from the camera: its normal points out of the body's silhouette,
and its depth grows towards it (Marr, "Analysis of occluding contour", Proc. R. Soc. B 1977). That tells the frame of
normals, and depth from its inverse, without knowing what is seen. Edges of a mask that are no outlines, such as a
table's in front of a person, have no common sign and average out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Rows, and columns, that are looked at.
_LINES = 64
# Fewer edges say nothing.
FEWEST_EDGES = 40


class Outline(NamedTuple):
    """Pixels of a mask at its edge.

    Attributes:
        rows, columns: (n,) of the pixels, all inside the mask.
        sides: (n,) +1 where outside lies to the right or below, -1 to the left or above.
    """

    rows: np.ndarray
    columns: np.ndarray
    sides: np.ndarray


def outlines(mask: np.ndarray) -> tuple[Outline, Outline]:
    """Edges of ``mask`` (H, W), uint8 of 0 and 1, along some of its rows, then along some of its columns."""
    height, width = mask.shape
    step_y, step_x = max(1, height // _LINES), max(1, width // _LINES)
    lines, places, sides = _edges(mask[step_y // 2::step_y])
    along_rows = Outline(step_y // 2 + lines * step_y, places, sides)
    lines, places, sides = _edges(np.ascontiguousarray(mask[:, step_x // 2::step_x].T))
    return along_rows, Outline(places, step_x // 2 + lines * step_x, sides)


def _edges(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Line, place on it and side of each pixel of value 1 beside one of value 0."""
    number, place = np.nonzero(lines[:, 1:] != lines[:, :-1])
    entering = lines[number, place + 1] > 0
    return number, place + entering, np.where(entering, -1, 1)
