"""Names of files that every system takes for what they are."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from sapiens2.apis.image_sources import image_sources
from sapiens2.utils.portable_names import portable_name

OUT = PureWindowsPath(r'C:\results')


@pytest.mark.parametrize('name, expected', [
    ('con', 'co%6E'), ('NUL.jpg', 'NU%4C.jpg'), ('aux.tar.png', 'au%78.tar.png'), ('COM1', 'COM%31'),
    ('lpt³.png', 'lpt%C2%B3.png'), ('nul .jpg', 'nu%6C .jpg'), ('a.', 'a%2E'), ('a. .', 'a%2E%20%2E'), ('..', '%2E%2E'),
    ('12:30.jpg', '12%3A30.jpg'), ('C:a.jpg', 'C%3Aa.jpg'), (r'..\..\a.jpg', '..%5C..%5Ca.jpg'), ('a/b', 'a%2Fb'),
    ('what?*.png', 'what%3F%2A.png'), ('a\nb\0', 'a%0Ab%00')])
def test_names_that_windows_refuses_or_reads_otherwise(name: str, expected: str) -> None:
    got = portable_name(name)
    assert got == expected
    path = OUT / got
    assert path.parent == OUT and path.name == got and not PureWindowsPath(got).is_reserved()
    assert portable_name(got) == got


@pytest.mark.parametrize('name', [
    'a.jpg', '.hidden', 'b.c.d.PNG', '写真 1.webp', 'console.png', 'com10.png', 'nullo', 'a%20b'])
def test_other_names_stay(name: str) -> None:
    assert portable_name(name) == name


def test_results_of_addresses_stay_in_their_folder_on_windows() -> None:
    names = ('..%5C..%5Ca.png', 'C%3A%5Ctemp%5Cb.png', 'nul.png', 'photo.JPG', 'Photo.jpg')
    stems = [source.stem for source in image_sources([f'https://example.org/{name}' for name in names])]
    assert len({stem.casefold() for stem in stems}) == len(names)
    for stem in stems:
        path = OUT / f'{stem}.json'
        assert path.is_relative_to(OUT) and '..' not in path.parts and not PureWindowsPath(path.name).is_reserved()
