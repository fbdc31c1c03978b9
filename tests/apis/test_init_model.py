from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sapiens2.apis.init_model import init_model
from sapiens2.models.checkpoints import CheckpointMismatch

CONFIG = dict(
    type='DenseEstimator', backbone=dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48)),
    decode_head=dict(type='NormalHead', upsample_channels=[8] * 4, conv_out_channels=[4], conv_kernel_sizes=[3]))


def test_from_a_file_of_config_and_a_file_of_weights(tmp_path: Path) -> None:
    config = tmp_path / 'tiny.normal.py'
    config.write_text(f'model = {CONFIG!r}\n')
    random = init_model(config, device='cpu')
    assert not random.training and random.cfg.model.type == 'DenseEstimator'
    save_file(random.state_dict(), tmp_path / 'weights.safetensors')
    model = init_model(str(config), str(tmp_path / 'weights.safetensors'), device='cpu')
    images = torch.randn(1, 3, 64, 48)
    with torch.no_grad():
        assert torch.equal(model(images), random(images))


def test_weights_of_another_task_are_refused(tmp_path: Path) -> None:
    save_file(init_model(CONFIG, device='cpu').state_dict(), tmp_path / 'weights.safetensors')
    other = dict(CONFIG, decode_head=dict(CONFIG['decode_head'], type='AlbedoHead'))
    with pytest.raises(CheckpointMismatch, match='a decoder for normal with 3 outputs.*a decoder for albedo'):
        init_model(other, tmp_path / 'weights.safetensors', device='cpu')
