"""Frames of films: order, times, orientation, and what is wrong with some films."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np
import pytest
from films import FakeCamera, frame_pixels, make_film, make_sound

from sapiens2.apis.video.inputs import split_videos, video_input
from sapiens2.apis.video.reader import open_video

av = pytest.importorskip('av')


def read(path, *options):
    reader = open_video(video_input(path))
    try:
        return list(reader.frames(*options)), reader
    finally:
        reader.close()


def test_frames_come_with_their_times_and_colours(tmp_path):
    frames, reader = read(make_film(tmp_path / 'a.mp4'))
    assert [frame.number for frame in frames] == list(range(12))
    assert [frame.time for frame in frames] == [Fraction(number, 10) for number in range(12)]
    assert reader.rate == 10 and reader.count == 12 and not reader.problems and not reader.has_audio
    assert np.abs(frames[3].pixels.astype(int) - frame_pixels(3, (48, 64))).mean() < 8


def test_a_variable_rate_is_kept(tmp_path):
    times = [0, 0.1, 0.25, 1.0, 1.05, 3.0]
    frames, _ = read(make_film(tmp_path / 'a.mkv', times=times, count=6))
    assert [float(frame.time) for frame in frames] == pytest.approx(times, abs=1e-3)


@pytest.mark.parametrize('rotation', [90, -90, 180])
def test_the_film_is_turned_upright_as_other_programs_do(rotation, tmp_path):
    try:
        path = make_film(tmp_path / 'a.mp4', rotation=rotation)
    except AttributeError:
        pytest.skip('this PyAV reads such films, and cannot write them')
    frames, _ = read(path)
    capture = cv2.VideoCapture(str(path))
    is_read, expected = capture.read()
    assert is_read and frames[0].pixels.shape == expected.shape == ((48, 64, 3) if rotation == 180 else (64, 48, 3))
    assert np.abs(frames[0].pixels.astype(int) - expected).mean() < 8


def test_a_part_of_a_film(tmp_path):
    path = make_film(tmp_path / 'a.mp4')
    assert [frame.number for frame in read(path, 0, 2, 0.35, 0.9)[0]] == [4, 6, 8]
    assert [frame.number for frame in read(path, 9)[0]] == [9, 10, 11]


@pytest.mark.parametrize('codec', ['mpeg4', 'libx264'])
def test_of_a_film_that_is_cut_off_the_beginning_is_read(codec, tmp_path):
    if codec not in av.codecs_available:
        pytest.skip(f'this build of FFmpeg has no {codec}')
    whole = make_film(tmp_path / 'a.mkv', count=40, codec=codec).read_bytes()
    (tmp_path / 'cut.mkv').write_bytes(whole[:len(whole) * 3 // 4])
    frames, reader = read(tmp_path / 'cut.mkv')
    assert 8 < len(frames) < 39
    assert any('cut off' in text and 'cut.mkv' in text for text in reader.problems)


@pytest.mark.parametrize('content, text', [
    (b'', 'empty'), (b'no film at all' * 100, 'cannot be opened as a video'), (None, 'no such video.*a.mp4')])
def test_what_is_no_video_is_named(content, text, tmp_path):
    make_film(tmp_path / 'a.mp4')
    if content is not None:
        (tmp_path / 'b.mp4').write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=text) as caught:
        open_video(video_input(tmp_path / 'b.mp4'))
    assert 'b.mp4' in str(caught.value)


def test_an_mp4_without_its_end_is_named(tmp_path):
    whole = make_film(tmp_path / 'a.mp4').read_bytes()
    (tmp_path / 'cut.mp4').write_bytes(whole[:len(whole) // 2])
    with pytest.raises(ValueError, match='cut.mp4.*cut off'):
        open_video(video_input(tmp_path / 'cut.mp4'))


def test_sound_alone_is_no_video(tmp_path):
    with pytest.raises(ValueError, match='no moving pictures in it, only audio'):
        open_video(video_input(make_sound(tmp_path / 'a.mp4')))


def test_a_film_without_frames(tmp_path):
    make_film(tmp_path / 'a.mkv', count=1)
    content = (tmp_path / 'a.mkv').read_bytes()
    # All that comes before the first frame.
    (tmp_path / 'none.mkv').write_bytes(content[:content.index(b'\x1f\x43\xb6\x75')])
    with pytest.raises(ValueError, match='none.mkv: (not one frame|cannot be opened)'):
        read(tmp_path / 'none.mkv')


def test_a_camera_that_is_lost(monkeypatch):
    monkeypatch.setattr(cv2, 'VideoCapture', FakeCamera)
    frames, reader = read('camera:0')
    assert [frame.pixels[0, 0, 0] for frame in frames] == [2, 1, 0]
    assert sorted({frame.time for frame in frames}) == [frame.time for frame in frames]
    assert 'lost' in reader.problems[0]


@pytest.mark.parametrize('count, text', [(-1, 'camera:3: cannot be opened'), (0, 'camera:3: it gives no picture')])
def test_a_camera_that_is_not_there(count, text, monkeypatch):
    monkeypatch.setattr(cv2, 'VideoCapture', type('Dead', (FakeCamera,), {'count': count}))
    with pytest.raises(ValueError, match=text):
        read('camera:3')


def test_inputs_are_told_apart(tmp_path):
    for name in ('in/a.mp4', 'in/deep/b.MOV', 'in/c.jpg', 'films/a.mkv', 'films/x.txt'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    given = [str(tmp_path / 'in'), str(tmp_path / 'films'), 'camera:1', 'rtsp://host/live', 'https://host/x.jpg',
             'https://host/d/y.mp4?key=1', 'z.jpg']
    videos, others = split_videos(given)
    assert others == [given[0], given[4], given[6]]
    assert [video.stem for video in videos] == ['a', 'deep/b', 'a.mkv', 'camera1', 'live', 'y']
    assert [video.is_live for video in videos] == [False] * 3 + [True, True, False]
