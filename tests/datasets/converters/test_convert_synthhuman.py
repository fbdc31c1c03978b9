"""SynthHuman on a miniature: a ball before a camera, stored with the axes and units of the set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Optional

import numpy as np
import pytest
from PIL import Image

from sapiens2.datasets.field_files import read_depth, read_normal

OpenEXR = pytest.importorskip('OpenEXR')

HEIGHT, WIDTH = 64, 48
INTRINSICS = np.array([[90.0, 0, 23.5], [0, 90, 31.5], [0, 0, 1]])
CENTRE, RADIUS = np.array([0.05, -0.1, 2.0]), 0.5


def ball() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth (H, W) in metres, normals (H, W, 3) in our camera frame, and where the ball is."""
    rays = np.stack([*np.meshgrid((np.arange(WIDTH) - 23.5) / 90, (np.arange(HEIGHT) - 31.5) / 90),
                     np.ones((HEIGHT, WIDTH))], axis=-1)
    half, square = rays @ CENTRE, (rays * rays).sum(axis=-1)
    root = half**2 - square * (CENTRE @ CENTRE - RADIUS**2)
    depth = (half - np.sqrt(np.maximum(root, 0))) / square
    return depth, (rays * depth[..., None] - CENTRE) / RADIUS, root > 0


def write_exr(path: Path, channels: dict[str, np.ndarray]) -> None:
    header = {'compression': OpenEXR.ZIP_COMPRESSION, 'type': OpenEXR.scanlineimage}
    with OpenEXR.File(header, {name: np.ascontiguousarray(values, np.float16) for name, values in channels.items()}) \
            as file:
        file.write(str(path))


def write_sample(folder: Path, number: int, signs: tuple[int, int, int] = (1, -1, -1), scale: float = 100,
                 leave_out: Optional[str] = None) -> None:
    """One sample as the set stores it; 65504 where there is no depth."""
    folder.mkdir(parents=True, exist_ok=True)
    depth, normal, inside = ball()
    stored = np.where(inside[..., None], normal * signs, 0)
    alpha = np.where(inside, 255, 0).astype(np.uint8)
    if leave_out != 'alpha':
        Image.fromarray(alpha).save(folder / f'alpha_{number:07d}.png')
    if leave_out != 'depth':
        write_exr(folder / f'depth_{number:07d}.exr', {'Y': np.where(inside, depth * scale, 65504)})
    if leave_out != 'normal':
        write_exr(folder / f'normal_{number:07d}.exr', dict(zip('RGB', np.moveaxis(stored, -1, 0))))
    if leave_out != 'cam':
        np.savetxt(folder / f'cam_{number:07d}.txt', INTRINSICS)
    Image.fromarray(np.dstack([alpha] * 3)).save(folder / f'rgb_{number:07d}.png')


@pytest.mark.parametrize('signs', [(1, -1, -1), (1, 1, 1), (-1, 1, 1)])
def test_axes_and_units_become_ours(signs, tmp_path, convert, build_from_command) -> None:
    for number in range(3):
        write_sample(tmp_path / 'src/SynthHuman_0000', number, signs)
    result = convert('synthhuman', tmp_path / 'src', '--split', 'train', '--val-share', 0, '--link')
    assert result.code == 0, result.messages
    train, stem = tmp_path / 'out/train', 'SynthHuman_0000/0000001'
    depth, normal, inside = ball()
    np.testing.assert_allclose(read_depth(str(train / f'depths/{stem}.npz'), 1), np.where(inside, depth, 0), rtol=1e-3)
    found = read_normal(str(train / f'normals/{stem}.npz'))
    assert ((found * normal).sum(axis=-1)[inside] > 0.999).all() and not found[~inside].any()
    source = tmp_path / 'src/SynthHuman_0000'
    for ours, theirs in (('images', 'rgb'), ('masks', 'alpha')):
        assert (train / f'{ours}/{stem}.png').samefile(source / f'{theirs}_0000001.png')
    for command in result.commands:
        sample = build_from_command(command)[2]['data_samples']
        assert sample.gt_fields.mask.any()


def test_what_is_missing_or_implausible_is_named(tmp_path, convert) -> None:
    for number, part in enumerate(('alpha', 'depth', 'normal', 'cam', None)):
        write_sample(tmp_path / 'src', number, leave_out=part)
    write_sample(tmp_path / 'src', 5, scale=1)
    write_sample(tmp_path / 'src', 6, signs=(-1, 1, 1))
    (tmp_path / 'src/depth_0000007.exr').write_bytes(b'cut')
    write_sample(tmp_path / 'src', 7, leave_out='depth')
    result = convert('synthhuman', tmp_path / 'src', '--split', 'train', '--val-share', 0)
    lines = (tmp_path / 'out/skipped.txt').read_text().splitlines()
    assert result.code == 1 and len(lines) == 7
    for number, words in enumerate(('alpha_0000000.png: is missing', 'depth_0000001.exr: is missing',
                                    'normal_0000002.exr: is missing', 'cam_0000003.txt: is missing',
                                    'depth_0000005.exr: the median depth', 'normal_0000006.exr: normals agree',
                                    'depth_0000007.exr')):
        assert words in lines[number]
    assert [path.name for path in (tmp_path / 'out/train/images').iterdir()] == ['0000004.png']


def test_a_missing_package_is_said_before_any_work(tmp_path, convert, monkeypatch) -> None:
    write_sample(tmp_path / 'src', 0)
    monkeypatch.setitem(sys.modules, 'OpenEXR', None)
    with pytest.raises(ValueError, match=r'pip install "sapiens2\[exr\]"'):
        convert('synthhuman', tmp_path / 'src')


def test_normals_that_fit_no_axes_are_an_error(tmp_path, convert) -> None:
    write_sample(tmp_path / 'src', 0)
    rng = np.random.default_rng(0)
    write_exr(tmp_path / 'src/normal_0000000.exr', {name: rng.normal(size=(HEIGHT, WIDTH)) for name in 'RGB'})
    with pytest.raises(ValueError, match='whatever signs x, y and z are given'):
        convert('synthhuman', tmp_path / 'src')
    (tmp_path / 'empty').mkdir()
    with pytest.raises(ValueError, match='no rgb_0000000.png'):
        convert('synthhuman', tmp_path / 'empty')


def test_splits_share_nothing(tmp_path, convert) -> None:
    for number in range(6):
        write_sample(tmp_path / 'src', number)
    result = convert('synthhuman', tmp_path / 'src', '--val-share', 0.5)
    found = {split: {path.name for path in (tmp_path / f'out/{split}/images').iterdir()} for split in ('train', 'val')}
    assert result.code == 0 and not found['train'] & found['val'] and len(found['train'] | found['val']) == 6
