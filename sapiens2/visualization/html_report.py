"""Reports in one HTML file: text, tables and pictures, which are inside the file. Nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Union

import cv2
import numpy as np

_STYLE = '''
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .3rem; }
h2 { font-size: 1.25rem; margin-top: 2.4rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { caption-side: bottom; text-align: left; color: #555; font-size: .9rem; padding-top: .4rem; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; vertical-align: top; }
th { text-align: left; background: #f3f3f3; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.pictures td, .pictures th {
  text-align: center; border: none; padding: .25rem; vertical-align: middle; background: none;
}
.pictures th { font-weight: normal; color: #555; font-size: .9rem; }
.pictures img { max-width: 18rem; max-height: 22rem; display: block; margin: auto; }
pre { background: #f3f3f3; padding: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.note { background: #fff6dd; border-left: .3rem solid #e0b000; padding: .5rem 1rem; }
'''
# Pictures are JPEG of this quality.
_QUALITY = 90
# A cell that holds a number is set to the right.
Cell = Union[str, float, int]


def page(title: str, parts: Sequence[str]) -> str:
    """A whole document of ``parts``, each HTML."""
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
            f'<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n' + '\n'.join(parts)
            + '\n</body>\n</html>\n')


def heading(text: str) -> str:
    """The heading of a section."""
    return f'<h2>{escape(text)}</h2>'


def paragraph(text: str, note: bool = False) -> str:
    """A paragraph; a ``note`` is set off from the text."""
    return f'<p{_class("note") if note else ""}>{escape(text)}</p>'


def commands(lines: Sequence[str]) -> str:
    """Lines for a terminal."""
    return f'<pre>{escape(chr(10).join(lines))}</pre>'


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = '') -> str:
    """A table. Texts that start with a digit or a sign, and numbers, are set to the right."""
    head = ''.join(f'<th>{escape(cell)}</th>' for cell in header)
    body = '\n'.join('<tr>' + ''.join(_cell(str(cell)) for cell in row) + '</tr>' for row in rows)
    foot = f'<caption>{escape(caption)}</caption>' if caption else ''
    return f'<table>{foot}\n<tr>{head}</tr>\n{body}\n</table>'


def pictures(header: Sequence[str], rows: Sequence[tuple[str, Sequence[np.ndarray | str]]]) -> str:
    """A table of pictures.

    Args:
        header: of each column of pictures.
        rows: what stands before each row, and its cells: (H, W, 3) uint8 BGR pictures, or texts in place of one.
    """
    head = ''.join(f'<th>{escape(cell)}</th>' for cell in ('', *header))
    body = '\n'.join(
        f'<tr><th>{escape(name)}</th>' + ''.join(
            f'<td>{escape(cell) if isinstance(cell, str) else _image(cell, f"{name}: {column}")}</td>'
            for column, cell in zip(header, cells)) + '</tr>' for name, cells in rows)
    return f'<table class="pictures">\n<tr>{head}</tr>\n{body}\n</table>'


def _cell(text: str) -> str:
    return f'<td{_class("number") if text[:1].isdigit() or text[:1] in "+-−" else ""}>{escape(text)}</td>'


def _class(name: str) -> str:
    return f' class="{name}"'


def _image(picture: np.ndarray, text: str) -> str:
    """The picture inside the document; ``text`` is for those who cannot see it."""
    done, content = cv2.imencode('.jpg', picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not done:
        raise ValueError(f'{text}: the picture of shape {picture.shape} cannot be written as JPEG')
    return f'<img alt="{escape(text)}" src="data:image/jpeg;base64,{base64.b64encode(content).decode("ascii")}">'
