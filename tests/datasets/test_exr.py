"""OpenEXR files, as renderers write them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

from sapiens2.datasets import DataError
from sapiens2.datasets.errors import Kind
from sapiens2.datasets.exr import read_exr
from sapiens2.datasets.field_files import read_albedo, read_depth, read_normal

OpenEXR = pytest.importorskip('OpenEXR')
RAMP = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def write(path: Path, planes: dict[str, np.ndarray], header: Optional[dict[str, Any]] = None) -> str:
    OpenEXR.File(header or {}, planes).write(str(path))
    return str(path)


@pytest.mark.parametrize('names', [('Z',), ('V',), ('Y',), ('depth.V',), ('ViewLayer.Depth.Z',), ('distance',),
                                   ('R', 'G', 'B')])
@pytest.mark.parametrize('dtype', [np.float32, np.float16, np.uint32])
def test_depth_by_any_name_and_precision(names: tuple[str, ...], dtype: type, tmp_path: Path) -> None:
    path = write(tmp_path / 'a.exr', {name: RAMP.astype(dtype) for name in names})
    found = read_exr(path, channels=1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[..., 0], RAMP)
    np.testing.assert_array_equal(read_depth(path, unit=0.001), RAMP)  # metres, whatever the precision


@pytest.mark.parametrize('names', ['RGB', 'XYZ', 'RGBA', ['Normal.X', 'Normal.Y', 'Normal.Z']])
def test_three_channels_keep_their_order(names: Any, tmp_path: Path) -> None:
    path = write(tmp_path / 'a.exr', {name: RAMP + number for number, name in enumerate(names)})
    np.testing.assert_array_equal(read_exr(path, channels=3), np.stack([RAMP, RAMP + 1, RAMP + 2], axis=-1))


def test_layers_of_one_file(tmp_path: Path) -> None:
    planes = {f'View.{name}': RAMP * number for number, name in enumerate(
        ['Combined.R', 'Combined.G', 'Combined.B', 'Combined.A', 'Normal.X', 'Normal.Y', 'Normal.Z', 'Depth.Z'], 1)}
    path = write(tmp_path / 'a.exr', planes)
    np.testing.assert_array_equal(read_depth(path, 1), RAMP * 8)
    assert read_exr(path, 3, 'normal')[0, 0].tolist() == [5, 6, 7]
    with pytest.raises(DataError, match=r"a.exr: 2 pictures of 3 channels fit.*View.Normal.X.*call the layer 'albedo'"):
        read_exr(path, 3, 'albedo')


def test_parts_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / 'a.exr'
    OpenEXR.File([OpenEXR.Part({}, {'Z': RAMP}, 'depth'),
                  OpenEXR.Part({}, {name: RAMP + i for i, name in enumerate('RGB')}, 'colour')]).write(str(path))
    assert read_exr(str(path), 1)[0, 0] == 1 and read_exr(str(path), 3)[0, 0].tolist() == [1, 2, 3]


def test_stored_window_is_set_into_the_picture(tmp_path: Path) -> None:
    def window(*corners: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array(corners[:2], np.int32), np.array(corners[2:], np.int32)

    header = {'dataWindow': window(-1, 1, 2, 3), 'displayWindow': window(0, 0, 4, 4)}
    path = write(tmp_path / 'a.exr', {'Z': RAMP}, header)
    expected = np.zeros((5, 5), np.float32)
    expected[1:4, :3] = RAMP[:, 1:]
    np.testing.assert_array_equal(read_exr(path, 1)[..., 0], expected)


def test_fields(tmp_path: Path) -> None:
    depth = RAMP.copy()
    depth[0] = [np.inf, np.nan, 1e10, -1]  # what renderers write where there is no surface
    found = read_depth(write(tmp_path / 'depth.exr', {'V': depth}), unit=0.001)
    assert found[0].tolist() == [0, 0, 0, 0] and found[1].tolist() == [5, 6, 7, 8]
    zero = np.zeros_like(RAMP)
    normal = read_normal(write(tmp_path / 'n.exr', {'X': zero, 'Y': zero, 'Z': zero - 1}))
    assert normal.shape == (3, 4, 3) and normal[0, 0].tolist() == [0, 0, -1]
    albedo = read_albedo(write(tmp_path / 'a.exr', {name: RAMP / 12 for name in 'RGB'}))
    np.testing.assert_allclose(albedo[..., 0], RAMP / 12)


def test_faults_name_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / 'a.exr', {'R': RAMP, 'G': RAMP + 1, 'B': RAMP})
    with pytest.raises(DataError, match=r'a.exr: holds the channels B, G, R; 1 of them must be called Z, V or Y'):
        read_exr(path, 1)
    content = Path(path).read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 5):
        Path(path).write_bytes(content[:size])
        with pytest.raises(DataError, match='a.exr: (missing, cut off|damaged)') as caught:
            read_exr(path, 3)
        assert caught.value.fault.kind is Kind.UNREADABLE and caught.value.fault.place == path
    with pytest.raises(DataError, match='nowhere.exr: missing'):
        read_exr(str(tmp_path / 'nowhere.exr'), 3)


def test_missing_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'OpenEXR', None)
    with pytest.raises(ImportError, match=r'a.exr: .*pip install "sapiens2\[exr\]"'):
        read_exr(str(tmp_path / 'a.exr'), 1)
