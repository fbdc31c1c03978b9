"""Learning rates and weight decay by depth."""

from __future__ import annotations

from typing import Any

import pytest
from mmengine.optim import build_optim_wrapper
from torch import nn

from sapiens2.registry import MODELS, register_all

LR, DECAY, RATE = 1e-3, 0.1, 0.5


class Model(nn.Module):
    """The nano backbone (4 blocks) and a head."""

    def __init__(self, **backbone: Any) -> None:
        super().__init__()
        self.backbone = MODELS.build(dict(type='Sapiens2', arch='sapiens2_nano', img_size=(32, 32), **backbone))
        self.decode_head = nn.Sequential(nn.Conv2d(64, 8, 1), nn.BatchNorm2d(8))


def groups_of(model: nn.Module, **paramwise_cfg: Any) -> dict[str, dict[str, Any]]:
    """Group of every trained parameter by name."""
    register_all()
    wrapper = build_optim_wrapper(model, dict(
        type='OptimWrapper', constructor='LayerDecayOptimWrapperConstructor', paramwise_cfg=paramwise_cfg,
        optimizer=dict(type='AdamW', lr=LR, weight_decay=DECAY)))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {names[id(parameter)]: group for group in wrapper.optimizer.param_groups for parameter in group['params']}


def test_learning_rate_falls_by_depth() -> None:
    groups = groups_of(Model(), layer_decay_rate=RATE)
    lr = {name: group['lr'] for name, group in groups.items()}
    assert lr['decode_head.0.weight'] == lr['decode_head.1.bias'] == lr['backbone.ln1.weight'] == LR
    for block in range(4):
        assert lr[f'backbone.blocks.{block}.attn.proj.weight'] == pytest.approx(LR * RATE ** (4 - block))
    assert lr['backbone.cls_token'] == lr['backbone.patch_embed.projection.weight'] == pytest.approx(LR * RATE ** 5)


def test_only_matrices_and_kernels_are_decayed() -> None:
    model = Model()
    groups = groups_of(model, layer_decay_rate=RATE)
    assert groups.keys() == dict(model.named_parameters()).keys()
    for name, parameter in model.named_parameters():
        decays = name.endswith('.weight') and parameter.ndim > 1
        assert groups[name]['weight_decay'] == (DECAY if decays else 0), name
    assert groups['backbone.cls_token']['weight_decay'] == groups['backbone.storage_tokens']['weight_decay'] == 0


def test_groups_are_few() -> None:
    groups = groups_of(Model(), layer_decay_rate=RATE)
    assert len({id(group) for group in groups.values()}) == 2 * 5 + 2  # per block, embedding and top: with and without


def test_frozen_parameters_are_left_out() -> None:
    groups = groups_of(Model(frozen_stages=2), layer_decay_rate=RATE)
    assert not any(name.startswith(('backbone.blocks.0.', 'backbone.blocks.1.', 'backbone.patch_embed'))
                   for name in groups)
    assert groups['backbone.blocks.2.attn.proj.weight']['lr'] == pytest.approx(LR * RATE ** 2)


def test_longest_custom_key_multiplies() -> None:
    groups = groups_of(Model(), layer_decay_rate=RATE, custom_keys={
        'decode_head': dict(lr_mult=10), 'decode_head.0': dict(lr_mult=2, decay_mult=0.5)})
    assert groups['decode_head.1.weight']['lr'] == 10 * LR
    assert groups['decode_head.0.weight']['lr'] == 2 * LR
    assert groups['decode_head.0.weight']['weight_decay'] == DECAY / 2
    assert groups['decode_head.0.bias']['weight_decay'] == 0


@pytest.mark.parametrize('options, message', [
    (dict(layer_decay=0.9), "Did you mean 'layer_decay_rate'"),
    (dict(num_layers=24), "unknown parameter-wise option: 'num_layers'"),
    (dict(layer_decay_rate=1.5), r'must be in \(0, 1\], got 1.5'),
    (dict(custom_keys=dict(decode_head=dict(lr_mul=2))), "Did you mean 'lr_mult'"),
    (dict(custom_keys=dict(decoder=dict(lr_mult=2))), "no parameter has 'decoder' in its name"),
])
def test_wrong_options(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        groups_of(Model(), **options)


def test_model_that_trains_nothing() -> None:
    with pytest.raises(ValueError, match='nothing to train'):
        groups_of(Model().requires_grad_(False), layer_decay_rate=RATE)


def test_model_without_depths() -> None:
    with pytest.raises(TypeError, match='Linear has no get_layer_depth'):
        groups_of(nn.Linear(2, 2), layer_decay_rate=RATE)
