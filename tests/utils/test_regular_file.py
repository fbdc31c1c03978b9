"""A pipe that nobody writes to is named wherever a file is expected, not waited for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from sapiens2.apis.box_table import load_boxes
from sapiens2.apis.journal import content_id
from sapiens2.cli.main import main
from sapiens2.datasets.json_files import read_json
from sapiens2.datasets.numpy_files import open_numpy
from sapiens2.utils.digests import file_digest
from sapiens2.utils.pillow_pictures import stated_pixels
from sapiens2.utils.regular_file import IRREGULAR, is_irregular

pytestmark = pytest.mark.skipif(not hasattr(os, 'mkfifo'), reason='no named pipes here')


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a pipe; whoever waits for it fails after a minute."""
    def make(name: str) -> Path:
        os.mkfifo(tmp_path / name)
        return tmp_path / name

    def wake(number: int, frame: object) -> None:
        raise AssertionError('it waits for a pipe')

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(60)
    yield make
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _array(path: Path) -> None:
    with open_numpy(str(path)):
        raise AssertionError('a pipe is no array')


@pytest.mark.parametrize('read', [file_digest, content_id, load_boxes, lambda path: read_json(str(path)), _array],
                         ids=['digest', 'weights', 'boxes', 'json', 'array'])
def test_a_pipe_is_named(pipe: Callable[[str], Path], read: Callable[[Path], object]) -> None:
    path = pipe('pipe.json')
    with pytest.raises((OSError, ValueError), match=f'pipe.json.*{IRREGULAR}|{IRREGULAR}.*pipe.json'):
        read(path)


def test_what_is_there_or_missing_is_no_pipe(pipe: Callable[[str], Path], tmp_path: Path) -> None:
    assert is_irregular(pipe('a.jpg')) and is_irregular('/dev/null') and stated_pixels(tmp_path / 'a.jpg') == 0
    assert not is_irregular(tmp_path) and not is_irregular(__file__) and not is_irregular(tmp_path / 'none')


def test_pipes_among_pictures_and_films_are_skipped_and_named(
        pipe: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cv2.imwrite(str(tmp_path / 'good.png'), np.full((40, 30, 3), 90, np.uint8))
    pipe('x.jpg'), pipe('film.mp4')
    assert main(['infer', 'normal', str(tmp_path), '--model', 'tiny', '--device', 'cpu', '--out',
                 str(tmp_path / 'out')]) == 1
    said = capsys.readouterr().err
    assert f'x.jpg: {IRREGULAR}' in said and f'film.mp4: {IRREGULAR}' in said
    assert (tmp_path / 'out/normal/good.png').is_file()
