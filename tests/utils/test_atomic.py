"""Files appear whole or not at all, and what stands in their way is named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors import SafetensorError

from sapiens2.utils.atomic import STALE_SECONDS, atomic_path, check_folder


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


def test_a_full_disk_met_by_safetensors_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r'No space left on device: .*a\.safetensors') as caught:
        with atomic_path(tmp_path / 'a.safetensors'):
            raise SafetensorError('Error while serializing: I/O error: No space left on device (os error 28)')
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(SafetensorError, match='of another kind'), atomic_path(tmp_path / 'a.safetensors'):
        raise SafetensorError('of another kind')


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    check_folder(tmp_path / 'a' / 'b')
    assert not list(tmp_path.iterdir())
    (tmp_path / 'file').touch()
    for folder in (tmp_path / 'file', tmp_path / 'file' / 'b'):
        with pytest.raises(OSError, match='no results can be written to') as caught:
            check_folder(folder)
        assert caught.value.filename == str(folder)


@pytest.mark.skipif(os.name != 'posix', reason='processes are asked for in the way of POSIX')
def test_what_a_killed_process_has_left_is_removed_later(tmp_path: Path) -> None:
    code = ('import os, signal, sys\nfrom sapiens2.utils.atomic import atomic_path\n'
            'with atomic_path(sys.argv[1]) as partial:\n'
            '    partial.write_text("half")\n    os.kill(os.getpid(), signal.SIGKILL)')
    killed = subprocess.run([sys.executable, '-c', code, str(tmp_path / 'a.txt')], check=False)
    assert killed.returncode == -signal.SIGKILL
    left, = tmp_path.iterdir()
    assert left.name.startswith('.partial-') and left.suffix == '.txt'
    running = left.with_name(left.name.replace(left.name.split('-')[-2], str(os.getppid())))
    elsewhere = left.with_name('.partial-other' + left.name[left.name.index('-', 9):])
    for file in (running, elsewhere):
        file.touch()
    for folder, age, remain in ((tmp_path / 'new', 0, {left, running, elsewhere}),
                                (tmp_path / 'old', STALE_SECONDS + 5, {running, elsewhere})):
        folder.mkdir()
        for file in (left, running, elsewhere):
            copy = folder / file.name
            copy.touch()
            changed = copy.stat().st_mtime - age
            os.utime(copy, (changed, changed))
        with atomic_path(folder / 'a.txt') as partial:
            partial.write_text('whole')
        assert {file.name for file in folder.iterdir()} == {'a.txt', *(file.name for file in remain)}
