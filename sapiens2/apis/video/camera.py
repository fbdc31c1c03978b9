"""Frames of a camera of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Optional

import cv2

from sapiens2.apis.video.frames import Frame, Reader


class CameraReader(Reader):
    """A camera of this machine, by OpenCV; times are those at which frames arrive."""

    def __init__(self, name: str, index: int) -> None:
        super().__init__(name)
        self._camera = _capture(index)
        if not self._camera.isOpened():
            raise ValueError(f'{name}: cannot be opened. Is it plugged in, free, and is this user allowed to use it '
                             f'(on Linux: /dev/video{index}, group video)?')
        rate = self._camera.get(cv2.CAP_PROP_FPS)
        self.rate = Fraction(rate).limit_denominator(1001) if 1 <= rate <= 1000 else None

    def close(self) -> None:
        self._camera.release()

    def frames(self, first: int = 0, every: int = 1, start: float = 0.0, end: Optional[float] = None
               ) -> Iterator[Frame]:
        begin, number = time.monotonic(), 0
        while True:
            is_there, pixels = self._camera.read()
            at = Fraction(round((time.monotonic() - begin) / self.tick)) * self.tick
            if end is not None and at >= end:
                return
            if not is_there:
                if not number:
                    raise ValueError(f'{self.name}: it gives no picture. Does another program use it?')
                self.problems.append(f'{self.name}: the camera was lost after {float(at):.1f} s')
                return
            if number >= first and at >= start and number % every == 0:
                yield Frame(number, at, pixels)
            number += 1


def _capture(index: int) -> cv2.VideoCapture:
    """OpenCV's capture, opened without what its back ends print when there is no such camera."""
    logging = cv2.utils.logging
    level = logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        return cv2.VideoCapture(index)
    finally:
        logging.setLogLevel(level)
