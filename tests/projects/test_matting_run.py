"""The task of mattes as a whole: training, cut-outs of pictures, and what is reached without a network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

CONFIG = 'projects/matting/configs/sapiens2-micro_matting_synth-128x96.py'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set of bright rectangles with soft edges before noise."""
    rng, root = np.random.default_rng(0), tmp_path / 'data'
    for split in ('train', 'val'):
        for number in range(4):
            alpha = np.zeros((80, 60), np.uint8)
            alpha[20:70, 15 + 3 * number:40 + 3 * number] = 255
            alpha = cv2.blur(alpha, (5, 5))
            image = rng.integers(0, 128, (80, 60, 3)) + alpha[..., None] // 2
            for name, picture in (('images', image.astype(np.uint8)), ('alphas', alpha)):
                (root / split / name).mkdir(parents=True, exist_ok=True)
                cv2.imwrite(str(root / split / name / f'{number}.png'), picture)
    (root / 'backgrounds').mkdir()
    cv2.imwrite(str(root / 'backgrounds/0.png'), rng.integers(0, 256, (50, 50, 3), dtype=np.uint8))
    return root


def cut(*words: object) -> int:
    from projects.matting.cut_out import main
    return main([str(word) for word in words])


def test_the_task_trains_and_cuts_out(tmp_path: Path, data: Path, capfd: pytest.CaptureFixture) -> None:
    from projects.matting.matte_cutter import window
    from sapiens2.cli.main import main
    assert main([
        'train', CONFIG, '--work-dir', str(tmp_path / 'work'), '--cfg-options', f'data_root={data}',
        f'background_root={data / "backgrounds"}', 'train_cfg.max_iters=2', 'train_cfg.val_interval=2',
        'train_dataloader.num_workers=0', 'train_dataloader.persistent_workers=False',
        'val_dataloader.num_workers=0', 'val_dataloader.persistent_workers=False']) == 0
    # Input, target and prediction of the samples side by side.
    assert cv2.imread(str(tmp_path / 'work/vis/iter_000002.jpg')) is not None
    printed = ''.join(capfd.readouterr())
    assert all(f'matting/{name}' in printed for name in ('sad_thousands', 'mse', 'grad_thousands', 'conn_thousands'))

    photos, out = tmp_path / 'photos', tmp_path / 'out'
    (photos / 'deep').mkdir(parents=True)
    picture = cv2.imread(str(data / 'val/images/0.png'))
    cv2.imwrite(str(photos / 'large.png'), cv2.resize(picture, (301, 500)))
    cv2.imwrite(str(photos / 'deep/small.png'), picture[:40])
    (photos / 'broken.jpg').write_bytes(b'no picture')
    command = CONFIG, tmp_path / 'work/iter_2.pth', photos, '--out', out
    assert cut(*command, '--colours', 'source') == 1
    printed = capfd.readouterr()
    assert 'broken.jpg' in printed.err and '2 cut-outs' in printed.out
    large, small = (cv2.imread(str(out / name), cv2.IMREAD_UNCHANGED) for name in ('large.png', 'deep/small.png'))
    assert large.shape == (500, 301, 4) and small.shape == (40, 60, 4)
    np.testing.assert_array_equal(small[..., :3], picture[:40])

    (photos / 'broken.jpg').unlink()
    before = (out / 'large.png').stat().st_mtime_ns
    (out / 'deep/small.png').unlink()
    assert cut(*command, '--colours', 'source') == 0
    assert (out / 'large.png').stat().st_mtime_ns == before and (out / 'deep/small.png').is_file()
    assert cut(*command) == 0
    assert (out / 'large.png').stat().st_mtime_ns > before, 'other colours are another result'
    again = cv2.imread(str(out / 'large.png'), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(again[..., 3], large[..., 3])
    assert (again[..., :3] != large[..., :3]).any()

    people = {'images': [{'id': 1, 'file_name': 'large.png', 'width': 301, 'height': 500}], 'annotations': [
        {'id': number, 'image_id': 1, 'category_id': 1, 'bbox': box}
        for number, box in enumerate(([30, 40, 60, 80], [400, 10, 20, 20]))], 'categories': []}
    (tmp_path / 'people.json').write_text(json.dumps(people), encoding='utf-8')
    capfd.readouterr()
    assert cut(*command, '--boxes', tmp_path / 'people.json', '--colours', 'predicted') == 1
    errors = capfd.readouterr().err
    assert 'small.png: no people: people.json does not know this image' in errors
    assert 'large.png: box 1' in errors and 'lies outside the image' in errors
    of_box = cv2.imread(str(out / 'large.png'), cv2.IMREAD_UNCHANGED)[..., 3]
    seen = window(np.array([30, 40, 90, 120]), (500, 301), 96 / 128)
    assert of_box[seen].mean() > 30 and of_box.sum() == of_box[seen].sum(dtype=np.int64)


def test_a_window_has_the_shape_of_the_input_and_stays_in_the_picture() -> None:
    from projects.matting.matte_cutter import window
    rows, columns = window(np.array([100, 100, 200, 300]), (1000, 800), 0.75)
    assert rows == slice(85, 315) and columns == slice(63, 237)  # 1.15 x 200 rows, three quarters of them columns
    rows, columns = window(np.array([100, 100, 400, 200]), (1000, 800), 0.75)
    assert columns == slice(77, 423) and rows == slice(0, 380)  # 1.15 x 300 columns
    assert window(np.array([0, 0, 640, 427]), (427, 640), 0.75) == np.s_[0:427, 0:640], 'a whole picture stays whole'


@pytest.mark.parametrize(('config', 'inputs', 'message'), [
    ('configs/normal/sapiens2-tiny_normal_synth-256x192.py', '.', 'only MattingHead cuts out'),
    (CONFIG, 'nowhere', 'nowhere: no such file or folder'),
    (CONFIG, '.', 'no checkpoint at'),
])
def test_what_cannot_be_cut_out_is_named(config: str, inputs: str, message: str, tmp_path: Path, data: Path,
                                         capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        cut(config, tmp_path / 'no.pth', data / inputs, '--out', tmp_path / 'out')
    assert message in capsys.readouterr().err and not (tmp_path / 'out').exists()


def test_what_is_reached_without_a_network(data: Path, capsys: pytest.CaptureFixture) -> None:
    from projects.matting.measure_baselines import main
    assert main([CONFIG, '--data-root', str(data), '--seg', 'tiny']) == 0
    printed = capsys.readouterr().out
    sads = dict(re.findall(r'^\| (\w.+?) \| ([\d.]+) \|', printed, re.MULTILINE))
    alphas = np.stack([cv2.imread(str(file), 0) / 255 for file in sorted((data / 'train/alphas').iterdir())])
    expected = np.abs(alphas.mean() - alphas).sum((1, 2)).mean() / 1000
    assert float(sads['mean opacity everywhere']) == pytest.approx(expected, rel=2e-3)
    assert float(sads['mean matte, place by place']) < expected
    assert 0 < float(sads['seg tiny, probability of a person']) < 4.8
