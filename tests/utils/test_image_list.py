"""Finding pictures, and names for their results that never collide."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from sapiens2.utils.image_list import ImageFile, list_images, output_stems


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'x')


def names(files: list[ImageFile]) -> list[str]:
    return [file.relative.as_posix() for file in files]


def test_folder(tmp_path: Path) -> None:
    make(tmp_path, 'a.JPG', 'b.c.png', 'with space.jpeg', '写真.webp', 'sub/deep/d.Tiff', 'notes.md', '.hidden.jpg',
         '.git/e.jpg')
    assert names(list_images([tmp_path])) == ['a.JPG', 'b.c.png', 'with space.jpeg', '写真.webp', 'sub/deep/d.Tiff']
    assert 'sub/deep/d.Tiff' not in names(list_images([tmp_path], recursive=False))


def test_linked_folders_are_walked_once(tmp_path: Path) -> None:
    make(tmp_path, 'in/a.jpg', 'elsewhere/b.jpg')
    os.symlink(tmp_path / 'elsewhere', tmp_path / 'in' / 'link')
    os.symlink(tmp_path / 'in', tmp_path / 'in' / 'loop')
    assert names(list_images([tmp_path / 'in'])) == ['a.jpg', 'link/b.jpg']


def test_glob_list_and_single_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, 'x/a.jpg', 'x/b.png', 'y/[1].jpg', 'y/strange.data')
    assert names(list_images([f'{tmp_path}/*/*.jpg'])) == ['x/a.jpg', 'y/[1].jpg']
    assert names(list_images([f'{tmp_path}/**/*.png'])) == ['x/b.png']
    assert names(list_images([f'{tmp_path}/y/[1].jpg'])) == ['[1].jpg']
    assert names(list_images([f'{tmp_path}/y/strange.data'])) == ['strange.data']
    (tmp_path / 'list.txt').write_text('\ufeff# photographs\nx/a.jpg\n\n  y\n', encoding='utf-8')
    assert names(list_images([tmp_path / 'list.txt'])) == ['a.jpg', '[1].jpg']
    monkeypatch.chdir(tmp_path)
    assert names(list_images(['*/a.jpg', 'x/a.jpg', 'x'])) == ['x/a.jpg', 'b.png']


def test_what_is_missing_is_named_with_the_nearest(tmp_path: Path) -> None:
    make(tmp_path, 'photos/portrait.jpg', 'empty/readme.md')
    (tmp_path / 'list.txt').write_text('photos/nothing.jpg\n')
    (tmp_path / 'blank.txt').write_text('\n')
    inputs = [tmp_path / 'photos/portrai.jpg', tmp_path / 'photo/x.jpg', tmp_path / 'empty', f'{tmp_path}/*.gif',
              tmp_path / 'list.txt', tmp_path / 'blank.txt', 'https://example.org/a.jpg']
    with pytest.raises(FileNotFoundError) as caught:
        list_images(inputs)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(inputs)
    assert "portrait.jpg'" in lines[0] and "photos'" in lines[1] and 'no picture in this folder' in lines[2]
    assert 'no picture matches' in lines[3] and 'list.txt, line 1' in lines[4] and 'names no file' in lines[5]
    assert 'download it first' in lines[6]


def stems(*paths: str) -> list[str]:
    """Stems of files given as 'folder//relative'."""
    return output_stems([ImageFile(Path(path.replace('//', '/')), PurePath(path.split('//')[1])) for path in paths])


@pytest.mark.parametrize('paths, expected', [
    (('/in//a.jpg', '/in//b.c.d.PNG', '/in//sub/a.jpg'), ['a', 'b.c.d', 'sub/a']),
    (('/in//a.jpg', '/in//a.png', '/in//a.jpg.png'), ['a.jpg', 'a.png', 'a.jpg.png']),
    (('/x//a.jpg', '/y//a.jpg'), ['x/a.jpg', 'y/a.jpg']),
    (('/in//a.jpg', '/in//A.JPG'), ['a', 'A~2']),
    (('/in//photo.v2',), ['photo.v2']),
])
def test_stems(paths: tuple[str, ...], expected: list[str]) -> None:
    got = stems(*paths)
    assert got == expected
    assert len({stem.casefold() for stem in got}) == len(got)


def test_a_file_named_in_two_ways_is_one_file(tmp_path: Path) -> None:
    make(tmp_path, 'a.png')
    (tmp_path / 'names.txt').write_bytes(b'a.png\r\n\r\n' + f'../{tmp_path.name}/a.png\n'.encode())
    assert len(list_images([tmp_path / 'names.txt'])) == 1


def test_a_list_may_name_files_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / 'names.txt').write_bytes(b'lost\xe9.png\n')
    missing: list[str] = []
    assert not list_images([tmp_path / 'names.txt'], missing=missing)
    assert 'names.txt, line 1: ' in missing[0] and 'no such file' in missing[0]
