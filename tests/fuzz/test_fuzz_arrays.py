"""Whatever NumPy and OpenEXR files hold, reading them gives numbers or a ``DataError``, and unpickles nothing."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from fuzz.budget import fuzz, outcome
from fuzz.mutation import mutated
from hypothesis import given

from sapiens2.datasets import DataError
from sapiens2.datasets.array_files import read_array
from sapiens2.datasets.field_files import read_albedo, read_depth, read_normal
from sapiens2.utils.image_io import ImageReadError


def _arrays() -> dict[str, bytes]:
    seeds = {}
    for name, array in {'float': np.ones((5, 6, 3), np.float32), 'whole': np.ones((5, 6), np.uint16),
                        'objects': np.array([{}], dtype=object)}.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        seeds[name] = buffer.getvalue()
    for name, write in (('npz', np.savez), ('npz packed', np.savez_compressed)):
        buffer = io.BytesIO()
        write(buffer, depth=np.ones((5, 6), np.float32))
        seeds[name] = buffer.getvalue()
    return seeds


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('arrays')


def check(path: Path) -> None:
    for key in ('depth', 'normal'):
        array = outcome(lambda: read_array(str(path), key), DataError)
        assert array is None or array.size and array.dtype.kind in 'biuf'
    outcome(lambda: read_depth(str(path), 0.001), DataError, ImageReadError)
    outcome(lambda: read_normal(str(path)), DataError, ImageReadError)
    outcome(lambda: read_albedo(str(path)), DataError, ImageReadError)


@fuzz(200)
@given(content=mutated(_arrays()))
def test_numpy_files(folder: Path, content: bytes) -> None:
    (folder / 'x.npy').write_bytes(content)
    check(folder / 'x.npy')


def test_openexr_files(folder: Path) -> None:
    pytest.importorskip('OpenEXR')
    import OpenEXR
    plane = np.linspace(0, 1, 30, dtype=np.float32).reshape(5, 6)
    seeds = {}
    for name, compression in (('zip', OpenEXR.ZIP_COMPRESSION), ('plain', OpenEXR.NO_COMPRESSION)):
        header = dict(compression=compression, type=OpenEXR.scanlineimage)
        with OpenEXR.File(header, {'X': plane, 'Y': plane, 'Z': plane}) as file:
            file.write(str(folder / 'seed.exr'))
        seeds[name] = (folder / 'seed.exr').read_bytes()

    @fuzz(150)
    @given(content=mutated(seeds))
    def run(content: bytes) -> None:
        (folder / 'x.exr').write_bytes(content)
        for key in ('depth', 'normal'):
            outcome(lambda: read_array(str(folder / 'x.exr'), key), DataError)

    run()
