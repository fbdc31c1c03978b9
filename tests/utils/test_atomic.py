"""Files appear whole or not at all, and what stands in their way is named."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sapiens2.utils.atomic import atomic_path, check_folder


def test_a_failed_file_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / 'deep' / 'a.txt'
    with atomic_path(path) as partial:
        partial.write_text('old')
    with pytest.raises(OSError, match=r'No space left on device: .*a\.txt') as caught:
        with atomic_path(path) as partial:
            partial.write_text('half')
            raise OSError(errno.ENOSPC, 'No space left on device')
    assert caught.value.errno == errno.ENOSPC
    assert path.read_text() == 'old' and [file.name for file in path.parent.iterdir()] == ['a.txt']


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    check_folder(tmp_path / 'a' / 'b')
    assert not list(tmp_path.iterdir())
    (tmp_path / 'file').touch()
    for folder in (tmp_path / 'file', tmp_path / 'file' / 'b'):
        with pytest.raises(OSError, match='no results can be written to') as caught:
            check_folder(folder)
        assert caught.value.filename == str(folder)
