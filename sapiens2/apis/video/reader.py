"""Frames of files and addresses: upright, with the times that the film states."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.apis.video.camera import CameraReader
from sapiens2.apis.video.extra import import_av
from sapiens2.apis.video.frames import Frame, Reader
from sapiens2.apis.video.inputs import VideoInput
from sapiens2.apis.video.packets import packets_of
from sapiens2.utils.suggest import nearest

_REMEDY = ('It may be no video, or cut off (an .mp4 whose end is missing has lost its table of frames). Copy it again, '
           'or convert it with another program')
# Only such addresses as the user gave are opened: a playlist on the disk cannot send one elsewhere.
_FILE_PROTOCOLS = 'file,crypto,data'
_TIMEOUT = 15.0
# From this height on, films that do not name their colours have those of HDTV.
_HD_HEIGHT = 720
_UNSPECIFIED, _PQ, _HLG = 2, 16, 18
# Seconds by which pictures may end before a film says: its sound may be longer.
_EARLY = 0.5


def open_video(video: VideoInput) -> Reader:
    """A reader of a file, address or camera.

    Raises:
        FileNotFoundError, ValueError: naming the video and what is wrong with it.
        ImportError: if PyAV is missing.
    """
    return CameraReader(video.name, video.camera) if video.camera is not None else FilmReader(video)


class FilmReader(Reader):
    """A file or address, by PyAV."""

    def __init__(self, video: VideoInput) -> None:
        super().__init__(video.name)
        self._container = _open(video)
        try:
            self._stream = _pictures(self._container, video.name)
            self._describe()
        except BaseException:
            self.close()
            raise

    def _describe(self) -> None:
        stream, container = self._stream, self._container
        stream.thread_type = 'AUTO'
        self.rate = stream.average_rate or stream.guessed_rate or None
        self.tick = stream.time_base if stream.time_base.numerator == 1 else Fraction(1, stream.time_base.denominator)
        # Microseconds. Streams of television begin at any time.
        self._origin = Fraction(container.start_time or 0, 1_000_000)
        seconds = _seconds(stream, container)
        self.count = stream.frames or (round(seconds * self.rate) if seconds and self.rate else None)
        self.aspect = Fraction(stream.sample_aspect_ratio or 1) or Fraction(1)
        self.has_audio = bool(container.streams.audio)
        if stream.codec_context.color_trc in (_PQ, _HLG):
            self.problems.append(f'{self.name}: its colours are for HDR screens, and look pale here. Convert it to SDR '
                                 'first for better results')

    def close(self) -> None:
        self._container.close()

    def frames(self, first: int = 0, every: int = 1, start: float = 0.0, end: Optional[float] = None
               ) -> Iterator[Frame]:
        number, last, damaged = -1, Fraction(-1), 0
        for number, frame in enumerate(self._decoded()):
            at = self._time(frame, number)
            if at <= last:  # two frames at one time, or one that goes back
                at = last + self.tick
            last = at
            damaged += frame.is_corrupt
            if end is not None and at >= end:
                break
            if number == 0 and abs(frame.rotation) == 90:
                self.aspect = 1 / self.aspect
            if number >= first and at >= start and number % every == 0:
                yield Frame(number, at, _upright(frame))
        else:
            self._note_end(number, last, damaged)

    def _time(self, frame: Any, number: int) -> Fraction:
        if frame.pts is None:
            return number / (self.rate or Fraction(25))
        return max(frame.pts * frame.time_base - self._origin, Fraction(0))

    def _decoded(self) -> Iterator[Any]:
        """Decoded frames; what is damaged is passed over, and said."""
        av = import_av()
        lost, early = 0, []
        for packet in packets_of(self._container, self._stream, early, f'{self.name}: reading ended early'):
            try:
                yield from packet.decode()
            except av.FFmpegError:
                lost += 1
        if early:
            self.problems += early
            yield from self._held_back()
        if lost:
            self.problems.append(f'{self.name}: {lost} pieces of it are damaged and show nothing')

    def _held_back(self) -> Iterator[Any]:
        """Frames that the decoder has, and keeps until it knows that no more come."""
        try:
            yield from self._stream.decode(None)
        except import_av().FFmpegError:
            return  # the last piece is the one that is cut; that reading ended early is said by now

    def _note_end(self, number: int, last: Fraction, damaged: int) -> None:
        if number < 0:
            raise ValueError(f'{self.name}: not one frame of it can be decoded. Is it complete? Copy it again, or '
                             'convert it with another program')
        if damaged:
            self.problems.append(f'{self.name}: {damaged} frames are damaged, and their results with them')
        stated = _seconds(self._stream, self._container)
        if stated and stated - last - (1 / self.rate if self.rate else 0) > _EARLY:
            self.problems.append(f'{self.name}: it is cut off: its frames end after {float(last):.1f} s, it says '
                                 f'{float(stated):.1f} s. What is there was done')


def _open(video: VideoInput) -> Any:
    av = import_av()
    if video.is_file:
        path = Path(video.name)
        if not path.is_file():
            close = nearest(path.name, [entry.name for entry in path.parent.iterdir()]) if path.parent.is_dir() else []
            raise FileNotFoundError(f'{path}: no such video' + (f'. Did you mean {close[0]!r}?' if close else ''))
        if not path.stat().st_size:
            raise ValueError(f'{path}: the file is empty. Copy it again')
    try:
        if video.is_file:  # the prefix, because a name may begin like an address
            return av.open(f'file:{video.name}', options={'protocol_whitelist': _FILE_PROTOCOLS})
        options = {'rtsp_transport': 'tcp'} if video.name.startswith('rtsp') else {}
        return av.open(video.name, options=options, timeout=_TIMEOUT)
    except av.FFmpegError as error:
        remedy = _REMEDY if video.is_file else 'Check the address and the network'
        raise ValueError(f'{video.name}: cannot be opened as a video: {error.strerror}. {remedy}') from error


def _pictures(container: Any, name: str) -> Any:
    """The stream of pictures; covers of music are none."""
    streams = [stream for stream in container.streams.video if 'attached_pic' not in str(stream.disposition)]
    if not streams:
        kinds = sorted({stream.type for stream in container.streams} - {'data'})
        what = f', only {", ".join(kinds)}. Give a video' if kinds else f'. {_REMEDY}'
        raise ValueError(f'{name}: there are no moving pictures in it{what}')
    return max(streams, key=lambda stream: (stream.codec_context.width or 0) * (stream.codec_context.height or 0))


def _seconds(stream: Any, container: Any) -> Optional[Fraction]:
    """How long the film is, as it says."""
    if stream.duration:
        begin = (stream.start_time or 0) * stream.time_base - Fraction(container.start_time or 0, 1_000_000)
        return stream.duration * stream.time_base + max(begin, Fraction(0))
    return Fraction(container.duration, 1_000_000) if container.duration else None


def _upright(frame: Any) -> np.ndarray:
    """(H, W, 3) BGR, turned as the film says."""
    colors = 'ITU709' if int(frame.colorspace) == _UNSPECIFIED and frame.height >= _HD_HEIGHT else None
    pixels = frame.to_ndarray(format='bgr24', src_colorspace=colors)
    turns = round(frame.rotation / 90) % 4  # counter-clockwise, as those of NumPy
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels
