"""A folder of pictures as people have them: good ones of odd kinds, and files that are none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

_TEXT = b'<html><body>404: this picture is gone</body></html>'


def write_odd_pictures(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write pictures; those that can be read and those that cannot."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    colors = Image.fromarray(rng.integers(0, 256, (12, 9, 3), dtype=np.uint8)).resize((90, 120))
    upright = Image.Exif()
    upright[0x0112] = 6
    good = {
        'plain.jpg': _encoded(colors, 'JPEG'), 'turned.jpg': _encoded(colors, 'JPEG', exif=upright),
        'grey.png': _encoded(colors.convert('L'), 'PNG'), 'palette.gif': _encoded(colors.convert('P'), 'GIF'),
        'cmyk.jpg': _encoded(colors.convert('CMYK'), 'JPEG'), 'alpha.png': _encoded(colors.convert('RGBA'), 'PNG'),
        'deep.png': _encoded(Image.fromarray(rng.integers(0, 65536, (40, 30), dtype=np.uint16)), 'PNG'),
        'web.webp': _encoded(colors, 'WEBP'), 'one_pixel.png': _encoded(colors.resize((1, 1)), 'PNG'),
        'narrow.png': _encoded(colors.resize((3, 2000)), 'PNG'), 'wide.jpg': _encoded(colors.resize((2000, 3)), 'JPEG')}
    whole = good['plain.jpg']
    bad = {'cut_off.jpg': whole[:len(whole) // 3], 'text.jpg': _TEXT, 'empty.png': b'',
           'film.jpg': b'\x00\x00\x00\x18ftypmp42' + bytes(64), 'damaged.png': good['grey.png'][:60] + bytes(200)}
    for name, content in {**good, **bad}.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in good], [folder / name for name in bad]


def _encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()
