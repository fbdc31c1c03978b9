from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from mmengine.config import Config
from mmengine.logging import MMLogger
from safetensors.torch import load_file, save_file
from torch import nn

from sapiens2.models.checkpoints import BadCheckpointFile, CheckpointMismatch, build_model, parameters_on_meta
from sapiens2.registry import MODELS

BACKBONE = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48))
CONFIG = dict(
    type='DenseEstimator', backbone=BACKBONE,
    decode_head=dict(type='NormalHead', upsample_channels=[8, 8, 8, 4], conv_out_channels=[4], conv_kernel_sizes=[3]))


@pytest.fixture()
def weights(tmp_path: Path) -> Path:
    save_file(build_model(CONFIG, device='cpu').state_dict(), tmp_path / 'normal.safetensors')
    return tmp_path / 'normal.safetensors'


@pytest.mark.parametrize('dtype', [None, torch.float32, torch.bfloat16, 'bf16'])
def test_a_filled_model_equals_one_that_was_loaded_the_plain_way(weights: Path, dtype: Any) -> None:
    model = build_model(CONFIG, weights, device='cpu', dtype=dtype)
    plain = MODELS.build(CONFIG)
    plain.load_state_dict(load_file(weights))
    expected = {'bf16': torch.bfloat16, None: torch.float32}.get(dtype, dtype)
    assert not any(tensor.is_meta for tensor in (*model.parameters(), *model.buffers()))
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters()):
        assert parameter.dtype == expected and parameter.requires_grad, name
        assert torch.equal(parameter, other.to(expected)), name
    buffers, others = dict(model.named_buffers()), dict(plain.named_buffers())
    assert buffers.keys() == others.keys() and buffers
    for name, buffer in buffers.items():
        assert buffer.dtype == others[name].dtype and torch.equal(buffer, others[name]), name
    images = torch.randn(1, 3, 64, 48)
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(images).float(), plain.eval()(images),
                                   **dict(rtol=0, atol=0) if expected == torch.float32 else dict(rtol=0.1, atol=0.1))


def test_no_random_values_are_drawn_for_a_filled_model(weights: Path) -> None:
    before = torch.random.get_rng_state()
    build_model(CONFIG, weights, device='cpu')
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_filled_model_can_be_trained(weights: Path) -> None:
    model = build_model(CONFIG, weights, device='cpu')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(2, 3, 64, 48)).square().mean().backward()
    before = weights.read_bytes()
    optimizer.step()
    assert weights.read_bytes() == before


def test_a_model_survives_that_its_archive_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / 'last.pth'
    state = build_model(BACKBONE, device='cpu').state_dict()
    torch.save({'state_dict': state}, path)
    model = build_model(BACKBONE, path, device='cpu')
    path.write_bytes(b'')
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())


def test_parameters_on_meta_ends_with_its_block() -> None:
    with parameters_on_meta():
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert all(parameter.is_meta for parameter in model.parameters())
    assert torch.equal(model[1].running_var, torch.ones(2))
    assert not nn.Linear(2, 2).weight.is_meta


def test_without_a_checkpoint_the_weights_are_random_and_a_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    logger = MMLogger.get_current_instance()
    logger.addHandler(caplog.handler)
    try:
        model = build_model(CONFIG, device='cpu')
    finally:
        logger.removeHandler(caplog.handler)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert sum('weights of DenseEstimator are random' in warning for warning in warnings) == 1
    assert not [record for record in caplog.records if record.levelno == logging.INFO], 'no line per parameter'
    assert 0.01 < model.backbone.blocks[0].attn.wq.weight.std() < 0.03


def test_random_weights_in_another_dtype_leave_buffers_alone() -> None:
    model = build_model(CONFIG, device='cpu', dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert model.data_preprocessor.mean.dtype == torch.float32


def test_what_the_file_lacks_is_random_when_not_strict(tmp_path: Path) -> None:
    state = build_model(BACKBONE, device='cpu').state_dict()
    save_file(state, tmp_path / 'backbone.safetensors')
    with pytest.raises(CheckpointMismatch):
        build_model(CONFIG, tmp_path / 'backbone.safetensors', device='cpu')
    model = build_model(CONFIG, tmp_path / 'backbone.safetensors', device='cpu', strict=False)
    assert not any(parameter.is_meta for parameter in model.parameters())
    assert torch.equal(model.backbone.cls_token, state['cls_token'])
    assert model.decode_head.conv_normal.weight.std() > 0


@pytest.mark.parametrize('form', ['file', 'config', 'dictionary'])
def test_configs_of_any_form(tmp_path: Path, weights: Path, form: str) -> None:
    path = tmp_path / 'normal.py'
    path.write_text(f'model = {CONFIG!r}\n')
    config = {'file': path, 'config': Config.fromfile(path), 'dictionary': {'model': CONFIG}}[form]
    assert type(build_model(config, weights, device='cpu')).__name__ == 'DenseEstimator'


def test_a_config_without_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match="no 'model'"):
        build_model({'optimizer': {}}, device='cpu')


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    (tmp_path / 'weights.safetensors').write_bytes(b'')
    with pytest.raises(BadCheckpointFile, match='weights.safetensors'):
        build_model(CONFIG, tmp_path / 'weights.safetensors', device='cpu')


def test_init_cfg_takes_the_backbone_out_of_a_checkpoint_of_a_task(weights: Path) -> None:
    model = MODELS.build(dict(BACKBONE, init_cfg=dict(type='Pretrained', checkpoint=str(weights))))
    model.init_weights()
    expected = load_file(weights)
    assert all(torch.equal(tensor, expected[f'backbone.{name}']) for name, tensor in model.state_dict().items())


def test_init_cfg_is_strict(weights: Path) -> None:
    init_cfg = dict(type='Pretrained', checkpoint=str(weights))
    with pytest.raises(CheckpointMismatch, match='sapiens2_tiny'):
        MODELS.build(dict(BACKBONE, arch='sapiens2_tiny', init_cfg=init_cfg)).init_weights()
    estimator = MODELS.build(dict(CONFIG, decode_head=dict(CONFIG['decode_head'], conv_out_channels=[6]),
                                  init_cfg=dict(init_cfg, strict=False)))
    estimator.init_weights()
    assert torch.equal(estimator.backbone.cls_token, load_file(weights)['backbone.cls_token'])
