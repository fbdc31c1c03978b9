"""``sapiens2 test CONFIG --predictions FOLDER`` on files written as other programs write them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from tiny_data import SIZE, write_data

from sapiens2.cli.main import main

CONFIGS = Path(__file__).parents[3] / 'configs'


def measured(capsys: pytest.CaptureFixture, task: str, root: Path, predictions: Path,
             *options: str) -> tuple[int, dict[str, float], str]:
    """Exit code, figures, and what was said."""
    code = main(['test', str(CONFIGS / f'{task}/sapiens2-tiny_{task}_folder-256x192.py'), '--predictions',
                 str(predictions), '--json', '--work-dir', str(root.parent / 'work'), *options,
                 '--cfg-options', f'data_root={root}'])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out.strip() else {}, err


@pytest.fixture
def labels(tmp_path: Path) -> tuple[Path, Path]:
    """A data set for segmentation, and its labels as predictions."""
    write_data('seg', tmp_path / 'data')
    shutil.copytree(tmp_path / 'data/val/labels', tmp_path / 'predicted')
    return tmp_path / 'data', tmp_path / 'predicted'


def test_the_truth_is_perfect(labels: tuple[Path, Path], capsys: pytest.CaptureFixture) -> None:
    code, figures, said = measured(capsys, 'seg', *labels)
    assert code == 0, said
    assert figures['seg/mIoU_percent'] == 100


def test_a_missing_prediction_is_named_or_counted(labels: tuple[Path, Path], capsys: pytest.CaptureFixture) -> None:
    (labels[1] / '2.png').unlink()
    code, _, said = measured(capsys, 'seg', *labels)
    assert code != 0 and '2.png' in said.replace('\n', '')
    code, figures, said = measured(capsys, 'seg', *labels, '--missing', 'skip')
    assert code == 0 and figures['seg/mIoU_percent'] == 100 and figures['predictions/missing_images'] == 1


def test_a_prediction_of_another_size_or_an_unknown_name(labels: tuple[Path, Path],
                                                         capsys: pytest.CaptureFixture) -> None:
    assert measured(capsys, 'seg', *labels, '--convention', 'sapien2')[0] != 0
    cv2.imwrite(str(labels[1] / '1.png'), np.zeros((5, 5), np.uint8))
    code, _, said = measured(capsys, 'seg', *labels)
    assert code != 0 and '1.png' in said.replace('\n', '')


def test_axes_of_other_programs(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    root, predicted = tmp_path / 'data', tmp_path / 'predicted'
    write_data('normal', root)
    predicted.mkdir()
    for file in sorted((root / 'val/normals').glob('*.npy')):
        np.save(predicted / file.name, np.load(file) * np.array([1, -1, -1], np.float32))
    code, figures, said = measured(capsys, 'normal', root, predicted, '--convention', 'opengl')
    assert code == 0, said
    assert figures['normal/mean_deg'] < 0.1
    assert measured(capsys, 'normal', root, predicted, '--convention', 'opencv')[1]['normal/mean_deg'] > 30


def test_depth_up_to_scale_and_shift_with_the_camera_of_the_data(tmp_path: Path,
                                                                 capsys: pytest.CaptureFixture) -> None:
    root, predicted = tmp_path / 'data', tmp_path / 'predicted'
    write_data('pointmap', root)
    predicted.mkdir()
    for number in range(4):
        depth = np.load(next((root / 'val').glob(f'*/{number}.npy')))
        assert depth.shape == SIZE
        np.save(predicted / f'{number}.npy', (depth - 0.5) / 3)
    code, figures, said = measured(capsys, 'pointmap', root, predicted, '--align', 'scale-shift', '--true-camera')
    assert code == 0, said
    assert figures['pointmap/l2_m'] < 1e-3
    assert measured(capsys, 'pointmap', root, predicted, '--true-camera')[1]['pointmap/l2_m'] > 0.1
