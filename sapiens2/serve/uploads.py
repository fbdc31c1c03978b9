"""What visitors bring: a picture, and boxes in a text. Both are checked before anything is computed."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from sapiens2.serve.refusals import Refused
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.utils.image_io import read_image
from sapiens2.utils.pillow_pictures import stated_pixels
from sapiens2.utils.printable import printable

MAX_BOXES = 50
_LONGEST_NAME = 60


def read_upload(path: Path, name: str, max_bytes: int, max_pixels: int) -> np.ndarray:
    """(H, W, 3) uint8 BGR, upright.

    Args:
        path: the file on the server; no message names it.
        name: that the visitor's file had.

    Raises:
        Refused: saying why it cannot be used.
    """
    name = short_name(name)
    size = path.stat().st_size
    if size > max_bytes:
        raise Refused(f'{name} has {size / 1e6:.1f} MB; at most {max_bytes / 1e6:g} MB are accepted.')
    content = path.read_bytes()
    if stated_pixels(path) > max_pixels:
        raise Refused(f'{name} has too many pixels; at most {max_pixels / 1e6:g} megapixels are accepted.')
    try:
        image = read_image(content, name)
    except ImageReadError as error:
        raise Refused(f'{error}') from error
    if image.shape[0] * image.shape[1] > max_pixels:
        raise Refused(f'{name} has too many pixels; at most {max_pixels / 1e6:g} megapixels are accepted.')
    return image


def short_name(name: str) -> str:
    """How messages call a visitor's file: no folders, no commands to terminals, not too long."""
    name = printable(re.split(r'[/\\]', name)[-1]) or 'The file'
    return name if len(name) <= _LONGEST_NAME else f'{name[:_LONGEST_NAME - 12]}...{name[-9:]}'


def add_corner(text: str, x: float, y: float) -> str:
    """``text``, as ``parse_boxes`` takes it, with a corner more: it completes a box of one corner, or begins one."""
    corner, lines = f'{round(x)}, {round(y)}', text.splitlines()
    if lines and len(_words(lines[-1])) == 2:
        return '\n'.join([*lines[:-1], f'{lines[-1].strip()}, {corner}'])
    return '\n'.join([*lines, corner])


def parse_boxes(text: str) -> np.ndarray:
    """(people, 4) float64 x1, y1, x2, y2 from a text with a box a line; its corners may come in any order.

    Raises:
        Refused: if there is none, or a line is no box.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Refused('There is no box yet. Click two opposite corners of each person in the picture, or write x1, y1, '
                      'x2, y2 in pixels, one person a line.')
    if len(lines) > MAX_BOXES:
        raise Refused(f'These are {len(lines)} boxes; at most {MAX_BOXES} are accepted.')
    boxes = []
    for number, line in enumerate(lines, 1):
        try:
            values = [float(word) for word in _words(line)]
        except ValueError:
            values = []
        if len(values) != 4 or not all(map(math.isfinite, values)):
            raise Refused(f'Line {number} of the boxes must be four numbers x1, y1, x2, y2; it is '
                          f'{printable(line[:_LONGEST_NAME])!r}.')
        corners = np.array(values).reshape(2, 2)
        boxes.append(np.concatenate([corners.min(0), corners.max(0)]))
    return np.array(boxes)


def _words(line: str) -> list[str]:
    return re.split(r'[\s,;]+', line.strip('[](),; '))
