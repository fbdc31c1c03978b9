"""What curation writes is what pretraining reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sapiens2.cli.main import main

pytest.importorskip('pyarrow')
pytest.importorskip('scipy')
ROOT = Path(__file__).parents[2]


def test_the_shards_train_the_pretraining_config_for_two_iterations(tmp_path):
    images, out, run = tmp_path / 'images', tmp_path / 'curated', tmp_path / 'run'
    images.mkdir()
    for number in range(6):
        picture = np.random.default_rng(number).integers(0, 256, (8, 6, 3), dtype=np.uint8)
        cv2.imwrite(str(images / f'{number}.jpg'), cv2.resize(picture, (96, 128), interpolation=cv2.INTER_CUBIC))
    assert main(['curate', str(ROOT / 'configs/curation/clean.py'), '--data-root', str(images), '--out', str(out),
                 '--workers', '1', '--cfg-options', 'filters.1.at_least=64', 'shard_size=4']) == 0
    assert len(list((out / 'shards').glob('*.tar'))) == 2
    trained = subprocess.run(
        [sys.executable, str(ROOT / 'tools/train.py'),
         str(ROOT / 'configs/pretrain/sapiens2-tiny_pretrain_synth-256x192.py'), '--work-dir', str(run),
         '--cfg-options', 'train_dataloader.dataset.type=PretrainShardsDataset',
         f'train_dataloader.dataset.data_root={out / "shards"}', 'train_cfg.max_iters=2',
         'train_dataloader.batch_size=2', 'train_dataloader.num_workers=0',
         'default_hooks.checkpoint.interval=2', 'default_hooks.logger.interval=1'],
        env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'), capture_output=True, text=True, timeout=600)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert (run / 'iter_2.pth').exists()
