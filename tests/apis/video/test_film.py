"""Films that are written: what is in them when they are read again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from films import frame_pixels, make_film

from sapiens2.apis.video.film import Film, Part, encoder
from sapiens2.apis.video.inputs import video_input
from sapiens2.apis.video.reader import open_video
from sapiens2.apis.video.sound import Sound

pytest.importorskip('av')
TICK = Fraction(1, 90_000)


def read(path):
    reader = open_video(video_input(path))
    return list(reader.frames()), reader


def seconds_of_sound(path):
    import av
    with av.open(str(path)) as film:
        stream, = film.streams.audio
        samples = sum(frame.samples for frame in film.decode(stream))
        return samples / stream.codec_context.sample_rate, stream.codec_context.name


def test_times_and_odd_sizes(tmp_path):
    times = [Fraction(number) for number in (0, '1/30', '1/10', '5/7', 2)]
    film = Film(tmp_path / 'parts', Fraction(5, 2), TICK)
    for number, time in enumerate(times):
        film.add(frame_pixels(number, (47, 63)), time)
        if number in (1, 2):
            film.close_part()
    film.finish(tmp_path / 'a.mp4')
    frames, reader = read(tmp_path / 'a.mp4')
    assert [float(frame.time) for frame in frames] == pytest.approx([float(time) for time in times], abs=2e-5)
    assert frames[0].pixels.shape == (48, 64, 3) and not reader.problems
    assert np.abs(frames[4].pixels[:47, :63].astype(int) - frame_pixels(4, (47, 63))).mean() < 10
    assert frames[4].pixels[47].max() < 40


def test_a_film_is_gone_on_with(tmp_path):
    first = Film(tmp_path / 'parts', Fraction(10), TICK)
    first.add(frame_pixels(0, (48, 64)), Fraction(0))
    first.close_part()
    parts, size = [Part(part.name, part.start) for part in first.parts], first.size
    first.add(frame_pixels(1, (48, 64)), Fraction(1, 10))  # lost: the program is killed here
    second = Film(tmp_path / 'parts', Fraction(10), TICK, parts=parts, size=size)
    for number in (1, 2):
        second.add(frame_pixels(number, (48, 64)), Fraction(number, 10))
    second.finish(tmp_path / 'a.mp4')
    first.close_part()
    assert [frame.time for frame in read(tmp_path / 'a.mp4')[0]] == [0, Fraction(1, 10), Fraction(1, 5)]


def test_pictures_of_other_sizes_fit_in(tmp_path):
    film = Film(tmp_path / 'parts', Fraction(10), TICK)
    for number, size in enumerate([(48, 64), (96, 128), (20, 20)]):
        film.add(np.full((*size, 3), 200, np.uint8), Fraction(number, 10))
    film.finish(tmp_path / 'a.mp4')
    frames, _ = read(tmp_path / 'a.mp4')
    assert [frame.pixels.shape for frame in frames] == [(48, 64, 3)] * 3
    assert frames[1].pixels.min() > 150
    assert frames[2].pixels[30:, 30:].max() < 60 < 150 < frames[2].pixels[:18, :18].min()


@pytest.mark.parametrize('ending, sound, codec', [
    ('mp4', 'aac', 'aac'), ('mov', 'pcm_s16le', 'aac'), ('ts', 'aac', 'aac'), ('mkv', 'flac', 'flac')])
def test_sound_is_kept(ending, sound, codec, tmp_path):
    source = make_film(tmp_path / f'a.{ending}', count=20, sound=sound)
    for start, end, expected in ((0.0, None, 2.0), (0.5, 1.5, 1.0)):
        film = Film(tmp_path / 'parts', Fraction(10), TICK)
        film.add(frame_pixels(0, (48, 64)), Fraction(0))
        film.finish(tmp_path / 'b.mp4', Sound(str(source), start, end))
        seconds, name = seconds_of_sound(tmp_path / 'b.mp4')
        assert name == codec and seconds == pytest.approx(expected, abs=0.1)


def test_a_full_disk_leaves_no_film(tmp_path, monkeypatch):
    film = Film(tmp_path / 'parts', Fraction(10), TICK)
    film.add(frame_pixels(0, (48, 64)), Fraction(0))

    def full(*parts):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(Film, '_join', full)
    with pytest.raises(OSError, match='No space left.*a.mp4'):
        film.finish(tmp_path / 'a.mp4')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['parts']


def test_there_is_an_encoder():
    assert encoder() in ('libx264', 'libopenh264', 'mpeg4')
