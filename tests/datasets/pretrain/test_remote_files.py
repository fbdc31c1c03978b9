"""Remote shards: over HTTP and any file system of fsspec, with a folder of limited size or without one."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pretrain_sets import PIPELINE, pictures, write_shards, write_tar

from sapiens2.datasets import PretrainShardsDataset
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.pretrain.storage import Storage
from sapiens2.datasets.samplers import Draw

fsspec = pytest.importorskip('fsspec')
MemoryFileSystem = fsspec.get_filesystem_class('memory')
FILES = list(pictures().values())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[str]:
    """Address of three shards in memory."""
    write_shards(tmp_path / 'source', pictures())
    system = fsspec.filesystem('memory')
    for path in (tmp_path / 'source').glob('*.tar'):
        system.pipe_file(f'/set/{path.name}', path.read_bytes())
    system.pipe_file('/set/._part-000.tar', b'left by a system')
    yield 'memory://set'
    system.rm('/set', recursive=True)


def contents(found: PretrainShardsDataset) -> list[bytes]:
    return [found.get_data_info(index)['img_bytes'] for index in range(len(found))]


def test_files_fetched_at_once_stay_within_the_size(
        memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together, get_file = threading.Barrier(2, timeout=60), MemoryFileSystem.get_file
    met: set[str] = set()

    def slow(self: Any, remote: str, local: str, **options: Any) -> None:
        if remote not in met:
            met.add(remote)
            together.wait()
        get_file(self, remote, local, **options)

    monkeypatch.setattr(MemoryFileSystem, 'get_file', slow)
    paths = [f'{memory}/part-{number:03d}.tar' for number in range(2)]
    stamps = [Storage().stamp(path) for path in paths]
    limit = max(stamp['size'] for stamp in stamps)
    storage = Storage(str(tmp_path / 'kept'), limit)
    with ThreadPoolExecutor(2) as pool:
        for file, stamp in zip(pool.map(storage.open, paths, stamps), stamps):
            with file:
                assert len(file.read()) == stamp['size']
    assert sum(path.stat().st_size for path in (tmp_path / 'kept').glob('*.tar')) <= limit


@pytest.mark.parametrize('files', ['*.tar', 'part-{000..002}.tar'])
@pytest.mark.parametrize('cache_gb', [1.0, 0])
def test_any_file_system(memory: str, cache_gb: float, files: str, tmp_path: Path) -> None:
    kept = tmp_path / 'kept'
    found = PretrainShardsDataset(memory, files=files, cache_dir=str(kept), cache_gb=cache_gb, pipeline=PIPELINE)
    assert contents(found) == FILES
    assert found.name(5).endswith('set/part-001.tar: 000005.png') and '://' in found.name(5)
    assert len(list(kept.glob('*.tar'))) == (3 if cache_gb else 0)
    assert found[Draw(5, 3, 0)]['inputs']['global_crops'].shape == (2, 3, 64, 48)


def test_folder_of_kept_files_stays_within_its_size(memory: str, tmp_path: Path) -> None:
    sizes = [path.stat().st_size for path in (tmp_path / 'source').glob('*.tar')]
    limit = max(sizes) * 1.5
    found = PretrainShardsDataset(memory, cache_dir=str(tmp_path / 'kept'), cache_gb=limit / 1e9)
    assert contents(found) == FILES == contents(found)
    assert sum(path.stat().st_size for path in (tmp_path / 'kept').glob('*.tar')) <= limit
    with pytest.raises(DataError, match='part-000.tar: its [0-9,]+ bytes are more than cache_gb allows'):
        PretrainShardsDataset(memory, files='part-000.tar', cache_dir=str(tmp_path / 'other'), cache_gb=1e-6)


def test_changed_file_is_fetched_and_indexed_again(memory: str, tmp_path: Path) -> None:
    build = dict(data_root=memory, files='part-000.tar', cache_dir=str(tmp_path / 'kept'))
    assert len(PretrainShardsDataset(**build)) == 4
    write_tar(tmp_path / 'new.tar', [('1.jpg', FILES[0])])
    fsspec.filesystem('memory').pipe_file('/set/part-000.tar', (tmp_path / 'new.tar').read_bytes())
    assert contents(PretrainShardsDataset(**build)) == FILES[:1]


def test_http(tmp_path: Path) -> None:
    pytest.importorskip('aiohttp')
    write_shards(tmp_path / 'source', pictures())

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(
        ('127.0.0.1', 0), functools.partial(Quiet, directory=str(tmp_path / 'source')))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        root = f'http://127.0.0.1:{server.server_port}'
        kept = dict(cache_dir=str(tmp_path / 'kept'))
        assert contents(PretrainShardsDataset(root, files='part-{000..002}.tar', **kept)) == FILES
        with pytest.raises(DataError, match='missing.tar: cannot be opened'):
            PretrainShardsDataset(root, files='missing.tar', **kept)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_matches_are_in_order_and_named_once(tmp_path: Path) -> None:
    write_shards(tmp_path, pictures())
    found = Storage().expand(str(tmp_path), ['*.tar', 'part-001.tar', 'part-{002..000}.tar'])
    assert [Path(path).name for path in found] == ['part-000.tar', 'part-001.tar', 'part-002.tar']
