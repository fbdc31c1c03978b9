"""What is said of a file that cannot be read as a picture."""

from __future__ import annotations

# A small file can claim to be larger than memory; 268 million pixels cover a 200-megapixel camera.
MAX_PIXELS = 2**28
TOO_DEEP = 'more than 16 bits a pixel: save it with 8 or 16 bits'
CUT_OFF = 'cut off: the file ends before the picture does; copy or download it again'
DAMAGED = 'damaged: its picture data cannot be decoded'
DAMAGED_OR_STRANGE = 'damaged, or of a rare kind that is not read: save it as PNG with 8 or 16 bits'


class ImageReadError(ValueError):
    """A file cannot be read as a picture. ``path`` and ``reason`` are its parts."""

    def __init__(self, path: str, reason: str = '') -> None:
        # One argument is enough, because a data loader rebuilds what its workers raise from the text alone.
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f'{self.path}: {self.reason}' if self.reason else self.path


def check_pixels(pixels: int, name: str) -> None:
    """Raise ImageReadError, calling the picture ``name``, if it has more than ``MAX_PIXELS``."""
    if pixels > MAX_PIXELS:
        raise ImageReadError(name, f'{pixels:,} pixels are more than the limit of {MAX_PIXELS:,}')
