"""Where files are kept for later runs, also for users without a home folder."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from sapiens2.datasets.pretrain.storage import Storage
from sapiens2.utils.user_cache import UserCacheError, make_user_cache, user_cache


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user that the system does not know, with no variable that says where files go."""
    def unknown(number: int) -> None:
        raise KeyError(f'getpwuid(): uid not found: {number}')
    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    for name in ('HOME', 'XDG_CACHE_HOME', 'SAPIENS2_CACHE'):
        monkeypatch.delenv(name, raising=False)


def test_variables_decide_in_their_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.setenv('XDG_CACHE_HOME', '')
    monkeypatch.setenv('SAPIENS2_CACHE', '')
    assert user_cache() == tmp_path / 'home' / '.cache' / 'sapiens2'
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'xdg'))
    assert user_cache() == tmp_path / 'xdg' / 'sapiens2'
    monkeypatch.setenv('SAPIENS2_CACHE', str(tmp_path / 'own'))
    assert user_cache() == make_user_cache() == tmp_path / 'own'
    assert (tmp_path / 'own').is_dir()
    assert Storage().cache_dir == tmp_path / 'own' / 'files'


def test_user_without_home(homeless: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UserCacheError, match='no home folder.*SAPIENS2_CACHE='):
        make_user_cache()
    (tmp_path / 'a.tar').write_bytes(b'x')
    assert Storage().expand(str(tmp_path), ['*.tar']) == [str(tmp_path / 'a.tar')]  # needs no cache
    monkeypatch.setenv('SAPIENS2_CACHE', str(tmp_path / 'cache'))
    assert make_user_cache().is_dir()


def test_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    monkeypatch.setenv('SAPIENS2_CACHE', str(tmp_path / 'file' / 'cache'))
    with pytest.raises(UserCacheError, match='Not a directory.*SAPIENS2_CACHE='):
        make_user_cache()


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_read_only_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('SAPIENS2_CACHE', str(tmp_path))
    tmp_path.chmod(0o500)
    with pytest.raises(UserCacheError, match='not writable.*SAPIENS2_CACHE='):
        make_user_cache()
