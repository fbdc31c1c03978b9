"""Films: pictures to H.264 parts that are whole files, and the parts joined with the sound of the source.

A film in the making is a folder of parts. A part is closed now and then, so a program that is killed loses the last
part alone; the film appears under its name when all of it is there.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Optional

import cv2
import numpy as np

from sapiens2.apis.video.extra import import_av
from sapiens2.apis.video.sound import Sound
from sapiens2.utils.atomic import atomic_path

# Encoders, the best first, with their settings. Without B-frames parts can be joined as they are.
_ENCODERS = {
    'libx264': {'crf': '19', 'preset': 'veryfast', 'bf': '0'},
    'libopenh264': {'b': '8000000'},
    'mpeg4': {'q': '3', 'bf': '0'},
}
_BT709, _LIMITED = 1, 1
_DEFAULT_RATE = Fraction(30)


@dataclass
class Part:
    """A closed part.

    Attributes:
        name: of its file.
        start: time of its first picture in the film, seconds.
    """

    name: str
    start: Fraction


class Film:
    """One film.

    Args:
        folder: of the parts; made when the first picture comes.
        rate: pictures a second on average, for the encoder and the last picture; None if unknown.
        tick: seconds; times are rounded to multiples of it.
        aspect: width of a pixel over its height.
        parts, size: of an earlier run that is gone on with; (H, W).
    """

    def __init__(self, folder: Path, rate: Optional[Fraction], tick: Fraction, aspect: Fraction = Fraction(1),
                 parts: Optional[list[Part]] = None, size: Optional[tuple[int, int]] = None) -> None:
        self.folder, self.tick, self.aspect = folder, tick, aspect
        self.rate = rate or _DEFAULT_RATE
        self.parts, self.size = list(parts or []), size
        self._file: Optional[Any] = None
        self._stream: Optional[Any] = None

    def add(self, picture: np.ndarray, time: Fraction) -> None:
        """Add a (H, W, 3) uint8 BGR picture; of another size than the first, it is fitted into it."""
        av = import_av()
        if self.size is None:
            self.size = tuple(side + side % 2 for side in picture.shape[:2])
        if self._file is None:
            self._begin(time)
        frame = av.VideoFrame.from_ndarray(_fitted(picture, self.size), format='bgr24')
        frame = frame.reformat(format='yuv420p', dst_colorspace='ITU709')
        frame.pts = round((time - self.parts[-1].start) / self.tick)
        frame.time_base = self.tick
        self._file.mux(self._stream.encode(frame))

    def _begin(self, time: Fraction) -> None:
        av = import_av()
        self.folder.mkdir(parents=True, exist_ok=True)
        part = Part(f'{len(self.parts):06d}.mp4', time)
        self._file = av.open(str(self.folder / part.name), 'w', format='mp4')
        name = encoder()
        self._stream = self._file.add_stream(name, rate=self.rate.limit_denominator(1001), options=_ENCODERS[name])
        context = self._stream.codec_context
        context.height, context.width = self.size
        context.pix_fmt, context.time_base = 'yuv420p', self.tick
        context.sample_aspect_ratio = self.aspect
        context.color_primaries = context.color_trc = context.colorspace = _BT709
        context.color_range = _LIMITED
        self.parts.append(part)

    def close_part(self) -> None:
        """Close the part that is being written: it is safe then."""
        if self._file is not None:
            self._file.mux(self._stream.encode(None))
            self._file.close()
            self._file = self._stream = None

    def finish(self, path: Path, sound: Optional[Sound] = None) -> None:
        """Join the parts to the film ``path``; they stay.

        Raises:
            OSError: if it cannot be written.
        """
        self.close_part()
        if self.parts:
            with atomic_path(path) as partial:
                self._join(partial, sound)

    def _join(self, path: Path, sound: Optional[Sound]) -> None:
        av = import_av()
        with ExitStack() as opened:
            film = opened.enter_context(av.open(str(path), 'w', format='mp4', options={'movflags': '+faststart'}))
            with av.open(str(self.folder / self.parts[0].name)) as first:
                stream = film.add_stream_from_template(first.streams.video[0])
            flows = [self._packets(stream)]
            if sound is not None:
                flows.append(opened.enter_context(sound).packets(film))
            for packet in heapq.merge(*flows, key=lambda packet: packet.dts * packet.time_base):
                film.mux(packet)

    def _packets(self, stream: Any) -> Iterator[Any]:
        av = import_av()
        for part in self.parts:
            with av.open(str(self.folder / part.name)) as file:
                for packet in file.demux(file.streams.video[0]):
                    if packet.dts is None:  # the mark of the end
                        continue
                    shift = round(part.start / packet.time_base)
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    packet.duration = round(1 / self.rate / packet.time_base)
                    packet.stream = stream
                    yield packet


@functools.cache
def encoder() -> str:
    """The best encoder that this build of FFmpeg has; mpeg4 is in all."""
    av = import_av()
    for name in _ENCODERS:
        try:
            av.Codec(name, 'w')
            return name
        except ValueError:  # unknown to this build
            continue
    raise RuntimeError(f'this build of FFmpeg writes none of {", ".join(_ENCODERS)}: pip install --force-reinstall av')


def _fitted(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """``picture`` at the top left of one of ``size`` (H, W), made smaller if need be; black besides."""
    ratio = min(1, *(side / own for side, own in zip(size, picture.shape)))
    if ratio < 1:
        height, width = (max(1, round(own * ratio)) for own in picture.shape[:2])
        picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    if picture.shape[:2] == size:
        return np.ascontiguousarray(picture)
    whole = np.zeros((*size, 3), dtype=np.uint8)
    whole[:picture.shape[0], :picture.shape[1]] = picture
    return whole
