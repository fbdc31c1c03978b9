"""Smooth text on pictures, in the font that Pillow carries."""

from __future__ import annotations

import functools

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Color = tuple[int, int, int]
# Ground and letters of panels and sheets.
PAPER: Color = (255, 255, 255)
INK: Color = (40, 40, 40)


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def text_size(text: str, size: int) -> tuple[int, int]:
    """(width, height) in pixels of one line of ``text``, ``size`` pixels high."""
    left, _, right, _ = _font(size).getbbox(text)
    return int(np.ceil(right - left)), int(np.ceil(size * 1.25))


def put_text(image: np.ndarray, text: str, origin: tuple[int, int], size: int, color: Color) -> None:
    """Write one line of ``text`` into ``image`` (H, W, 3), in place.

    Args:
        origin: (x, y) of the line's upper left corner.
        size: height of the font, pixels.
        color: in the channel order of ``image``.
    """
    x, y = origin
    width, height = text_size(text, size)
    top, left = max(y, 0), max(x, 0)
    bottom, right = min(y + height, image.shape[0]), min(x + width, image.shape[1])
    if bottom <= top or right <= left:
        return
    patch = Image.fromarray(image[top:bottom, left:right])
    ImageDraw.Draw(patch).text((x - left, y - top), text, font=_font(size), fill=color)
    image[top:bottom, left:right] = np.asarray(patch)


def shorten(text: str, size: int, width: int) -> str:
    """``text`` cut in its middle so that it is at most ``width`` pixels wide."""
    if text_size(text, size)[0] <= width:
        return text
    for kept in range(len(text) - 1, 1, -1):
        short = text[:(kept + 1) // 2] + '…' + text[len(text) - kept // 2:]
        if text_size(short, size)[0] <= width:
            return short
    return ''
