"""Options for videos."""

from __future__ import annotations

import argparse
import dataclasses

import pytest

from sapiens2.apis.video import VideoOptions
from sapiens2.cli.video_options import add_video_options, video_options


def parse(*words: str) -> VideoOptions:
    parser = argparse.ArgumentParser()
    add_video_options(parser)
    return video_options(parser.parse_args(words))


def test_without_options_the_defaults_hold():
    assert parse() == VideoOptions()


def test_each_option_has_its_field():
    words = ('--every 3 --start 1 --end 9 --side-by-side --no-film --no-audio --frame-files --no-smooth '
             '--smooth-cutoff 2 --smooth-speed 0 --box-overlap 0.5 --new-track 0.4 --max-gap 2').split()
    expected = dict(every=3, start=1.0, end=9.0, side_by_side=True, film=False, audio=False, frame_files=True,
                    smooth=False, cutoff=2.0, speed_cutoff=0.0, box_overlap=0.5, new_track=0.4, max_gap=2.0)
    assert parse(*words) == VideoOptions(**expected)
    assert {field.name for field in dataclasses.fields(VideoOptions)} == {*expected, 'save_every'}


@pytest.mark.parametrize('words', [('--every', '0'), ('--start', '-1'), ('--end', '0'), ('--max-gap', '0')])
def test_values_that_make_no_sense_are_refused(words):
    with pytest.raises(SystemExit):
        parse(*words)


def test_an_end_before_the_start():
    with pytest.raises(ValueError, match='the end after the start'):
        parse('--start', '5', '--end', '2')
