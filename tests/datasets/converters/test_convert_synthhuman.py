"""SynthHuman on a miniature: a ball before a camera, stored with the axes and units of the set."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tiny_sources import BALL_SIZE, ball, write_exr, write_synthhuman_sample

from sapiens2.datasets.field_files import read_depth, read_normal

pytest.importorskip('OpenEXR')


@pytest.mark.parametrize('signs', [(1, -1, -1), (1, 1, 1), (-1, 1, 1)])
def test_axes_and_units_become_ours(signs, tmp_path, convert, build_from_command) -> None:
    for number in range(3):
        write_synthhuman_sample(tmp_path / 'src/SynthHuman_0000', number, signs)
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
        write_synthhuman_sample(tmp_path / 'src', number, leave_out=part)
    write_synthhuman_sample(tmp_path / 'src', 5, scale=1)
    write_synthhuman_sample(tmp_path / 'src', 6, signs=(-1, 1, 1))
    (tmp_path / 'src/depth_0000007.exr').write_bytes(b'cut')
    write_synthhuman_sample(tmp_path / 'src', 7, leave_out='depth')
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
    write_synthhuman_sample(tmp_path / 'src', 0)
    monkeypatch.setitem(sys.modules, 'OpenEXR', None)
    with pytest.raises(ValueError, match=r'pip install "sapiens2\[exr\]"'):
        convert('synthhuman', tmp_path / 'src')


def test_normals_that_fit_no_axes_are_an_error(tmp_path, convert) -> None:
    write_synthhuman_sample(tmp_path / 'src', 0)
    rng = np.random.default_rng(0)
    write_exr(tmp_path / 'src/normal_0000000.exr', {name: rng.normal(size=BALL_SIZE) for name in 'RGB'})
    with pytest.raises(ValueError, match='whatever signs x, y and z are given'):
        convert('synthhuman', tmp_path / 'src')
    (tmp_path / 'empty').mkdir()
    with pytest.raises(ValueError, match='no rgb_0000000.png'):
        convert('synthhuman', tmp_path / 'empty')


def test_splits_share_nothing(tmp_path, convert) -> None:
    for number in range(6):
        write_synthhuman_sample(tmp_path / 'src', number)
    result = convert('synthhuman', tmp_path / 'src', '--val-share', 0.5)
    found = {split: {path.name for path in (tmp_path / f'out/{split}/images').iterdir()} for split in ('train', 'val')}
    assert result.code == 0 and not found['train'] & found['val'] and len(found['train'] | found['val']) == 6
