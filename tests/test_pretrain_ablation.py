"""The comparison of pretraining counts the operations of the trainings that it starts."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sapiens2.cli.run_options import option
from sapiens2.utils.config import load_config

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'benchmarks'))
import pretrain_ablation as ablation  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images = tmp_path / 'data/train/images'
    images.mkdir(parents=True)
    for number in range(4):
        cv2.imwrite(str(images / f'{number}.png'), np.full((64, 48, 3), 60 * number, np.uint8))
    return tmp_path


def arguments(folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str):  # noqa: ANN201
    monkeypatch.setattr(sys, 'argv', ['ablation', '--data', str(folder / 'data'), '--out', str(folder / 'out'), *more])
    return ablation.parse()


def test_what_is_counted_is_what_is_trained(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ('--options', 'model.backbone.arch=sapiens2_nano', 'train_dataloader.batch_size=2')
    small = arguments(folder, monkeypatch, '--size', '64', '48', *options)
    large = arguments(folder, monkeypatch, '--size', '128', '96', *options)
    flops, batch = ablation.step_flops(small, 'mae')
    assert batch == 2 and ablation.step_flops(large, 'mae')[0] > 2 * flops
    more = arguments(folder, monkeypatch, '--size', '64', '48', *options, 'train_dataloader.batch_size=4')
    assert ablation.step_flops(more, 'mae') == (2 * flops, 4)
    compute = ablation.load_compute(small)
    assert compute['mae']['steps'] > compute['unified']['steps'] == small.iterations
    command = ablation.training(small, compute, 'mae', 1).command
    cfg = load_config(command[4], dict(map(option, command[command.index('--cfg-options') + 1:])))
    steps = compute['mae']['steps']
    assert cfg.model.backbone.arch == 'sapiens2_nano' and tuple(cfg.model.backbone.img_size) == (64, 48)
    assert cfg.train_cfg.max_iters == steps and cfg.train_dataloader.batch_size == 2
    assert [item.get('end', 0) or item.begin for item in cfg.param_scheduler] == [steps // 20 + 1, steps // 20]


@pytest.mark.parametrize('size', [('64', '40'), ('16', '16')])
def test_sizes_that_no_network_takes(folder: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[str, str],
                                     capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        arguments(folder, monkeypatch, '--size', *size)
    assert 'multiples of 16' in capsys.readouterr().err
