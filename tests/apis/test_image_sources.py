"""From what a caller gives to a list of images with names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sapiens2.apis.image_sources import image_sources
from sapiens2.utils.image_io import write_image


def _image(path: Path, value: int = 7) -> Path:
    write_image(path, np.full((4, 6, 3), value, np.uint8))
    return path


def test_folder_keeps_its_structure_and_twins_differ(tmp_path):
    for name in ('a.jpg', 'a.PNG', 'sub/b.v1.2.png', 'sub/ü ö.png'):
        _image(tmp_path / name)
    sources = image_sources(tmp_path)
    assert sorted(source.stem for source in sources) == ['a.PNG', 'a.jpg', 'sub/b.v1.2', 'sub/ü ö']
    assert all(source.read().shape == (4, 6, 3) for source in sources)


def test_missing_paths_are_an_error_or_collected(tmp_path):
    good = _image(tmp_path / 'good.png')
    with pytest.raises(FileNotFoundError, match="god.png.*'.*good.png'"):
        image_sources([good, tmp_path / 'god.png'])
    missing = []
    assert [source.path for source in image_sources([good, tmp_path / 'god.png'], missing)] == [good]
    assert len(missing) == 1


def test_results_of_an_earlier_run_are_no_inputs(tmp_path):
    _image(tmp_path / 'a.png')
    _image(tmp_path / 'out' / 'seg' / 'a.png')
    assert [source.stem for source in image_sources(tmp_path, out_dir=tmp_path / 'out')] == ['a']


def test_results_do_not_go_among_the_inputs(tmp_path):
    path = _image(tmp_path / 'a.png')
    for inputs in (tmp_path, path):
        with pytest.raises(ValueError, match='holds input images'):
            image_sources(inputs, out_dir=tmp_path)


def test_arrays_and_pillow_images():
    array = np.zeros((4, 6, 3), np.uint8)
    array[..., 0] = 9
    red = Image.new('RGBA', (6, 4), (255, 0, 0, 10))
    sources = image_sources([array, red, np.full((4, 6), 5, np.uint8)])
    assert [source.stem for source in sources] == ['000000', '000001', '000002']
    assert sources[0].read()[0, 0].tolist() == [9, 0, 0]
    assert sources[1].read()[0, 0].tolist() == [0, 0, 255]
    assert sources[2].read()[0, 0].tolist() == [5, 5, 5]
    assert len(image_sources(np.zeros((3, 4, 6, 3), np.uint8))) == 3
    assert len(image_sources(array)) == 1
    assert image_sources(sources) == sources


def test_pillow_images_stand_upright():
    image = Image.new('RGB', (6, 4))
    image.getexif()[0x0112] = 6
    source, = image_sources(image)
    assert source.read().shape == (6, 4, 3)


@pytest.mark.parametrize('array', [np.zeros((4, 6, 3)), np.zeros((4, 6, 4), np.uint8), np.zeros((0, 6, 3), np.uint8)])
def test_other_arrays_are_refused(array):
    source, = image_sources([array])
    with pytest.raises(ValueError, match=r'uint8 of shape \(H, W, 3\), BGR'):
        source.read()


@pytest.mark.parametrize('array, words', [
    (np.zeros((4, 6), bool), r'bool of shape \(4, 6\).*astype\(np.uint8\) \* 255'),
    (np.zeros((3, 40, 60), np.uint8), r'transpose\(1, 2, 0\)'), (np.zeros((4, 6, 4), np.uint8), r'\[\.\.\., :3\]'),
    (np.zeros((4, 6, 3)), 'image \\* 255'), (np.zeros((4, 6), np.uint16), 'image // 257'),
    (np.zeros(()), r'shape \(\)'), (np.zeros(5, np.uint8), r'shape \(5,\)')])
def test_how_to_convert_other_arrays(array, words):
    source, = image_sources([array])
    with pytest.raises(ValueError, match=words):
        source.read()


def test_iterators_are_taken_as_they_go(tmp_path):
    for name in ('in/a.png', 'in/a.jpg', 'other/a.png'):
        _image(tmp_path / name)
    seen = []

    def items():
        for item in (tmp_path / 'in', str(tmp_path / 'other' / 'a.png'), tmp_path / 'lost.png',
                     np.zeros((4, 6, 3), np.uint8), 3):
            seen.append(item)
            yield item

    sources = image_sources(items())
    assert not seen
    found = [next(sources) for _ in range(5)]
    assert len(seen) == 4 and [source.stem for source in found] == ['a.jpg', 'a.png', 'a', 'lost', '000003']
    assert [source.read().shape for source in found if source.stem != 'lost'] == [(4, 6, 3)] * 4
    with pytest.raises(ValueError, match='lost.png.*No such file'):
        found[3].read()
    with pytest.raises(TypeError, match='item 4 of the iterator is int'):
        next(sources)


@pytest.mark.parametrize('inputs, words', [
    (None, 'got NoneType'), (5, 'got int'), (b'a.jpg', 'got bytes'), ([3], 'a list of int'),
    ({'a': np.zeros((4, 6, 3), np.uint8)}, r'got dict: give list\(inputs.values\(\)\)')])
def test_inputs_of_other_kinds_are_named(inputs, words):
    with pytest.raises(TypeError, match='inputs must be paths.*' + words):
        image_sources(inputs)


def test_an_empty_name_is_not_the_current_folder(tmp_path, monkeypatch):
    _image(tmp_path / 'a.png')
    monkeypatch.chdir(tmp_path)
    for inputs in ('', ['a.png', '']):
        with pytest.raises(ValueError, match='empty name'):
            image_sources(inputs)
    with pytest.raises(ValueError, match='folder for the results is empty'):
        image_sources('a.png', out_dir='')


def test_other_things_and_mixtures_are_refused():
    with pytest.raises(TypeError, match='int'):
        image_sources([3])
    with pytest.raises(TypeError, match='ndarray, str'):
        image_sources(['a.png', np.zeros((4, 6, 3), np.uint8)])


def test_only_folders_of_tasks_hold_results(tmp_path):
    photo = _image(tmp_path / 'photos' / 'a.png')
    result = _image(tmp_path / 'seg' / 'a.png')
    assert [source.path for source in image_sources(tmp_path / 'photos', out_dir=tmp_path)] == [photo]
    for named in (result, result.parent):
        with pytest.raises(ValueError, match='lies among the results in'):
            image_sources([photo, named], out_dir=tmp_path)


def test_links_that_lead_nowhere_or_to_themselves_are_named_when_read(tmp_path):
    _image(tmp_path / 'in' / 'a.png')
    (tmp_path / 'in' / 'self.png').symlink_to('self.png')
    (tmp_path / 'in' / 'lost.png').symlink_to('nowhere.png')
    sources = image_sources(tmp_path / 'in', out_dir=tmp_path / 'out')
    assert [source.stem for source in sources] == ['a', 'lost', 'self']
    for source in sources[1:]:
        with pytest.raises(ValueError, match='cannot be opened'):
            source.read()


def test_results_need_a_folder_that_can_be_written_to(tmp_path):
    photo = _image(tmp_path / 'a.png')
    for out_dir in (photo, photo / 'deep' / 'er'):
        with pytest.raises(OSError, match='no results can be written to'):
            image_sources(np.zeros((4, 6, 3), np.uint8), out_dir=out_dir)
    image_sources(np.zeros((4, 6, 3), np.uint8), out_dir=tmp_path / 'new')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['a.png']


@pytest.fixture
def server(tmp_path):
    """Files of a folder at an address of this machine."""
    import functools
    import http.server
    import threading
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / 'web'))
    (tmp_path / 'web').mkdir()
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{served.server_port}', tmp_path / 'web'
        served.shutdown()


def test_addresses_are_read_and_named(server, tmp_path):
    address, folder = server
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    write_image(folder / 'sub' / 'a b.png', image)
    write_image(tmp_path / 'local' / 'a.jpg', image)
    (folder / 'page.html').write_text('<html></html>')
    sources = image_sources([f'{address}/sub/a%20b.png?size=1', tmp_path / 'local', f'{address}/page.html',
                             f'{address}/none.jpg', f'{address}/%2e%2e/%2e%2e/etc/a.png'])
    assert [source.stem for source in sources] == ['a.jpg', 'a b', 'page.html', 'none', 'a.png']
    assert (sources[1].read() == image).all() and sources[1].path is None
    assert sources[1].file_name.name == 'a b.png'
    for source, reason in ((sources[2], 'page.html'), (sources[3], 'status 404')):
        with pytest.raises(ValueError, match=reason) as failure:
            source.read()
        assert address in str(failure.value)


def test_a_long_or_cut_answer_is_refused(server, monkeypatch):
    from sapiens2.utils import fetch
    address, folder = server
    (folder / 'long.png').write_bytes(bytes(2000))
    monkeypatch.setattr(fetch, 'MAX_DOWNLOAD', 1000)
    with pytest.raises(ValueError, match='limit of 1,000 bytes'):
        fetch.fetch(f'{address}/long.png')
    with pytest.raises(ValueError, match='cannot be downloaded'):
        fetch.fetch('http://127.0.0.1:1/a.png')


def test_addresses_with_blanks_and_what_is_no_address(server):
    address, folder = server
    _image(folder / 'a ä.png')
    good, bad = image_sources([f'{address}/a ä.png', 'http://[::1/b.png'])
    assert good.read().shape == (4, 6, 3) and good.stem == 'a ä'
    with pytest.raises(ValueError, match=r'http://\[::1/b.png: cannot be downloaded: Invalid IPv6'):
        bad.read()


def test_a_server_that_never_ends_is_given_up(server, monkeypatch):
    from sapiens2.utils import fetch
    address, folder = server
    (folder / 'slow.png').write_bytes(bytes(5000))
    monkeypatch.setattr(fetch, '_PIECE', 100)
    monkeypatch.setattr(fetch, 'LONGEST_SECONDS', 0)
    with pytest.raises(ValueError, match='slow.png: cannot be downloaded: after 0 s only [0-9,]+ bytes'):
        fetch.fetch(f'{address}/slow.png')


def test_pillow_images_that_cannot_be_read_are_named(tmp_path):
    rng = np.random.default_rng(0)
    write_image(tmp_path / 'a.png', rng.integers(0, 256, (40, 60, 3), dtype=np.uint8))
    (tmp_path / 'cut.png').write_bytes((tmp_path / 'a.png').read_bytes()[:3000])
    closed = Image.open(tmp_path / 'a.png')
    closed.close()
    for image, reason in ((Image.open(tmp_path / 'cut.png'), 'truncated'), (closed, 'closed'),
                          (Image.new('La', (5, 5)), 'conversion from La')):
        source, = image_sources([image])
        with pytest.raises(ValueError, match=f'000000: Pillow cannot read this image of mode .*{reason}'):
            source.read()
