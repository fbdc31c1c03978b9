"""Pictures beside one another: pairs and contact sheets."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sapiens2.visualization.text import INK, PAPER, put_text, shorten, text_size


def beside(pictures: Sequence[np.ndarray], gap: int = 0) -> np.ndarray:
    """(H, W, 3) pictures in one row on white, their tops aligned, ``gap`` pixels between them."""
    height = max(picture.shape[0] for picture in pictures)
    width = sum(picture.shape[1] for picture in pictures) + gap * (len(pictures) - 1)
    row = np.full((height, width, 3), PAPER, dtype=np.uint8)
    left = 0
    for picture in pictures:
        row[:picture.shape[0], left:left + picture.shape[1]] = picture
        left += picture.shape[1] + gap
    return row


def fit_square(picture: np.ndarray, side: int) -> np.ndarray:
    """``picture`` scaled so that its longer side has ``side`` pixels."""
    ratio = side / max(picture.shape[:2])
    if ratio == 1:
        return picture
    size = tuple(max(1, round(side * ratio)) for side in picture.shape[1::-1])
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA if ratio < 1 else cv2.INTER_CUBIC)


def contact_sheet(
        tiles: Sequence[tuple[str, np.ndarray]], columns: int = 3, tile: int = 480, title: str = '') -> np.ndarray:
    """One BGR picture of many, each in a square of ``tile`` pixels over its caption.

    Args:
        tiles: caption and (H, W, 3) BGR picture, in reading order.
        title: a line over the whole sheet.
    """
    if not tiles:
        raise ValueError('contact_sheet: there is no picture to put on the sheet')
    columns = max(1, min(columns, len(tiles)))
    size, gap = max(12, tile // 28), max(6, tile // 24)
    caption = text_size('X', size)[1] + gap // 2
    head = text_size('X', size)[1] + gap if title else 0
    fitted = [fit_square(picture, tile) for _, picture in tiles]
    rows = [fitted[start:start + columns] for start in range(0, len(fitted), columns)]
    heights = [max(picture.shape[0] for picture in row) for row in rows]
    sheet = np.full((head + gap + sum(heights) + len(rows) * (caption + gap), columns * (tile + gap) + gap, 3),
                    PAPER, dtype=np.uint8)
    if title:
        put_text(sheet, shorten(title, size, sheet.shape[1] - 2 * gap), (gap, gap), size, INK)
    top = head + gap
    captions = iter(text for text, _ in tiles)
    for row, height in zip(rows, heights):
        for column, picture in enumerate(row):
            left = gap + column * (tile + gap)
            x, y = left + (tile - picture.shape[1]) // 2, top + (height - picture.shape[0]) // 2
            sheet[y:y + picture.shape[0], x:x + picture.shape[1]] = picture
            text = shorten(next(captions), size, tile)
            put_text(sheet, text, (left + (tile - text_size(text, size)[0]) // 2, top + height + gap // 4), size, INK)
        top += height + caption + gap
    return sheet
