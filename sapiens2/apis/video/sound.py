"""The sound of a video, for the film that is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Optional

from sapiens2.apis.video.extra import import_av
from sapiens2.apis.video.packets import packets_of

# What an .mp4 may hold as it is; other sound is encoded anew as AAC.
_COPIED = ('aac', 'mp3', 'ac3', 'eac3', 'alac', 'opus', 'flac')
_BIT_RATE = 192_000


class Sound:
    """The first sound of a file, from ``start`` to before ``end``, seconds. A context: the file is open in it."""

    def __init__(self, path: str, start: float = 0.0, end: Optional[float] = None) -> None:
        self.path, self.start, self.end = path, start, end
        self.problems: list[str] = []

    def __enter__(self) -> Sound:
        self._file = import_av().open(f'file:{self.path}')
        self._stream = self._file.streams.audio[0]
        self._origin = Fraction(self._file.start_time or 0, 1_000_000)
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def packets(self, film: Any) -> Iterator[Any]:
        """Packets for a film that is open for writing, whose stream of sound is added at once."""
        if self._stream.codec_context.name in _COPIED:
            return self._copied(film.add_stream_from_template(self._stream))
        context = self._stream.codec_context
        stream = film.add_stream('aac', rate=context.sample_rate)
        stream.codec_context.bit_rate = _BIT_RATE
        stream.codec_context.layout = 'mono' if context.layout.nb_channels == 1 else 'stereo'
        return self._encoded(stream)

    def _shift(self, time_base: Fraction) -> int:
        return round((self._origin + Fraction(self.start)) / time_base)

    def _is_wanted(self, time: Fraction) -> bool:
        return time >= self.start and (self.end is None or time < self.end)

    def _packets(self) -> Iterator[Any]:
        return packets_of(self._file, self._stream, self.problems, f'{self.path}: its sound ends early')

    def _copied(self, stream: Any) -> Iterator[Any]:
        for packet in self._packets():
            if packet.dts is None or not self._is_wanted(packet.dts * packet.time_base - self._origin):
                continue
            shift = self._shift(packet.time_base)
            packet.dts -= shift
            packet.pts = packet.dts if packet.pts is None else packet.pts - shift
            packet.stream = stream
            yield packet

    def _encoded(self, stream: Any) -> Iterator[Any]:
        av = import_av()
        context = stream.codec_context
        resampler = av.AudioResampler(format='fltp', layout=context.layout, rate=context.sample_rate,
                                      frame_size=1024)
        last = -1

        def encode(frame: Any) -> Iterator[Any]:
            nonlocal last
            for ready in resampler.resample(frame):
                ready.pts = max(ready.pts - self._shift(ready.time_base), last + 1)
                last = ready.pts
                yield from context.encode(ready)

        for packet in self._packets():
            try:
                frames = packet.decode()
            except av.FFmpegError:
                self.problems.append(f'{self.path}: a piece of its sound is damaged')
                continue
            for frame in frames:
                if frame.pts is not None and self._is_wanted(frame.pts * frame.time_base - self._origin):
                    yield from (_of(one, stream) for one in encode(frame))
        yield from (_of(one, stream) for one in encode(None))
        yield from (_of(one, stream) for one in context.encode(None))


def _of(packet: Any, stream: Any) -> Any:
    packet.stream = stream
    return packet
