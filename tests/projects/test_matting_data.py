"""Files of mattes, the steps of the pipeline, and the data set made of generated people."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from sapiens2.datasets.errors import DataError
from sapiens2.utils.image_io import ImageReadError


def test_files_of_mattes(tmp_path: Path) -> None:
    from projects.matting.fields import read_alpha
    levels = np.array([[0, 51], [204, 255]], np.uint8)
    files = {
        'grey.png': levels,
        'deep.png': levels.astype(np.uint16) * 257,
        'grey_as_colour.png': np.dstack([levels] * 3),
        'cutout.png': np.dstack([levels[::-1]] * 3 + [levels]),
    }
    for name, stored in files.items():
        cv2.imwrite(str(tmp_path / name), stored)
        alpha = read_alpha(str(tmp_path / name))
        assert alpha.dtype == np.float32, name
        np.testing.assert_allclose(alpha, [[0, 0.2], [0.8, 1]], atol=1e-6, err_msg=name)
    np.save(tmp_path / 'floats.npy', np.array([[0.25, 1.0]]))
    np.testing.assert_array_equal(read_alpha(str(tmp_path / 'floats.npy')), np.float32([[0.25, 1]]))


def test_files_that_are_no_mattes_are_named(tmp_path: Path) -> None:
    from projects.matting.fields import read_alpha
    np.save(tmp_path / 'percent.npy', np.array([[0.0, 100.0]]))
    np.save(tmp_path / 'nan.npy', np.array([[0.0, np.nan]]))
    np.save(tmp_path / 'long.npy', np.array([[0, 1]]))
    colours = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    cv2.imwrite(str(tmp_path / 'colours.png'), colours)
    cv2.imwrite(str(tmp_path / 'lossy.jpg'), colours)
    for name, message in (('percent.npy', 'goes from 0 to 100'), ('nan.npy', r'must lie in \[0, 1\]'),
                          ('long.npy', 'int64'), ('colours.png', r'\(H, W\) opacities')):
        with pytest.raises(DataError, match=f'{name}.*{message}.*save a grey PNG'):
            read_alpha(str(tmp_path / name))
    with pytest.raises(ImageReadError, match='lossy.jpg'):
        read_alpha(str(tmp_path / 'lossy.jpg'))


def soft_disc(size: int = 64) -> np.ndarray:
    """(H, W) float32, opaque inside, with an edge 8 pixels wide."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    return np.clip((size / 4 - np.hypot(x, y)) / 8 + 0.5, 0, 1).astype(np.float32)


def composed(alpha: np.ndarray, front: tuple[int, ...], back: tuple[int, ...]) -> np.ndarray:
    """(H, W, 3) uint8 BGR."""
    return np.rint(alpha[..., None] * front + (1 - alpha[..., None]) * back).astype(np.uint8)


def test_the_foreground_is_told_from_the_background() -> None:
    from projects.matting.foreground import estimate_foreground
    alpha, red, green = soft_disc(), (20, 30, 220), (10, 200, 40)
    image = composed(alpha, red, green)
    edge = (alpha > 0.3) & (alpha < 0.9)
    before = np.abs(image[edge].astype(float) - red).mean()
    after = np.abs(estimate_foreground(image, alpha)[edge] - red).mean()
    assert after < before / 4, (after, before)
    np.testing.assert_allclose(estimate_foreground(image, np.ones_like(alpha)), image, atol=0.5)


def test_a_new_background_keeps_the_person(tmp_path: Path) -> None:
    from projects.matting import ComposeMatte, EstimateForeground, PackMatte
    cv2.imwrite(str(tmp_path / 'blue.png'), np.full((50, 90, 3), (250, 10, 10), np.uint8))
    alpha = soft_disc()
    results = {'img': composed(alpha, (20, 30, 220), (10, 200, 40)), 'alpha': alpha, 'sample_id': 'anna.jpg'}
    results = ComposeMatte(str(tmp_path), prob=1)(EstimateForeground()(results))
    foreground = results['foreground'][..., ::-1] * 255
    exact = alpha[..., None] * foreground + (1 - alpha[..., None]) * (250, 10, 10)
    assert np.abs(results['img'] - exact).max() < 0.51
    assert (results['img'][0, 0] == (250, 10, 10)).all() and abs(int(results['img'][32, 32, 2]) - 220) <= 1
    packed = PackMatte()(results)['data_samples'].gt_fields
    torch.testing.assert_close(packed.alpha, torch.from_numpy(alpha)[None])
    assert packed.foreground.shape == (3, 64, 64) and packed.foreground[0, 32, 32] == pytest.approx(220 / 255, abs=0.01)


def test_steps_say_what_they_lack(tmp_path: Path) -> None:
    from projects.matting import ComposeMatte, EstimateForeground
    picture = {'img': np.zeros((4, 4, 3), np.uint8), 'sample_id': 'anna.jpg'}
    with pytest.raises(DataError, match='anna.jpg.*EstimateForeground needs alpha'):
        EstimateForeground()(picture)
    with pytest.raises(FileNotFoundError, match='no picture in this folder'):
        ComposeMatte(str(tmp_path))


def test_geometric_steps_keep_picture_and_matte_together() -> None:
    """A picture that is its own matte still is after any step, here a crop, a mirroring and an average of areas."""
    import projects.matting  # noqa: F401
    from sapiens2.registry import TRANSFORMS, register_all
    register_all()
    np.random.seed(0)
    alpha = np.rint(soft_disc(256) * 255).astype(np.float32) / 255
    alpha[:, :100] *= 0.5
    results = {'img': np.dstack([np.rint(alpha * 255).astype(np.uint8)] * 3), 'alpha': alpha, 'img_shape': (256, 256),
               'dataset_meta': {}, 'sample_id': 'disc'}
    for step in (dict(type='RandomAreaCrop', area_range=(0.5, 0.9), aspect_range=(0.7, 1.4), prob=1.0),
                 dict(type='RandomFlip', prob=1.0), dict(type='Resize', size=(96, 80))):
        results = TRANSFORMS.build(step)(results)
    assert results['alpha'].shape == (96, 80) and results['img'].shape == (96, 80, 3)
    assert np.abs(results['alpha'] * 255 - results['img'][..., 0]).max() < 1.01
    assert results['alpha'].std() > 0.1


def test_mattes_of_generated_people(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from projects.matting.prepare_synth import main
    person, place = np.full((9, 8, 3), (20, 30, 220), np.uint8), np.full((9, 8, 3), (10, 200, 40), np.uint8)
    mask = np.zeros((9, 8), np.uint8)
    mask[2:7, 3:6] = 255
    for split in ('train', 'val'):
        for name, picture in (('images', np.where(mask[..., None] > 0, person, place)), ('masks', mask)):
            (tmp_path / 'synth' / split / name).mkdir(parents=True)
            cv2.imwrite(str(tmp_path / 'synth' / split / name / '000000.png'), picture)
    out = tmp_path / 'out'
    words = [str(tmp_path / 'synth'), '--out', str(out), '--backgrounds', '2']
    assert main(words) == 0
    alpha = cv2.imread(str(out / 'val/alphas/000000.png'), cv2.IMREAD_UNCHANGED) / 255
    np.testing.assert_allclose(alpha, [[0] * 4, [0, 0.5, 1, 0], [0, 0.5, 1, 0], [0, 0.25, 0.5, 0]], atol=0.002)
    image = cv2.imread(str(out / 'val/images/000000.png'))
    assert np.abs(image - composed(alpha, (20, 30, 220), (10, 200, 40)).astype(int)).max() <= 1
    backgrounds = [cv2.imread(str(file)) for file in sorted((out / 'backgrounds').iterdir())]
    assert len(backgrounds) == 2 and backgrounds[0].std() > 10 and (backgrounds[0] != backgrounds[1]).any()

    (out / 'train/images/000000.png').unlink()
    kept = (out / 'val/alphas/000000.png').stat().st_mtime_ns
    assert main(words) == 0
    assert (out / 'train/images/000000.png').is_file(), 'what is missing is made again'
    assert (out / 'val/alphas/000000.png').stat().st_mtime_ns == kept, 'what is there is kept'
    with pytest.raises(SystemExit):
        main([*words, '--shrink', '3'])
    assert 'or another --out' in capsys.readouterr().err
