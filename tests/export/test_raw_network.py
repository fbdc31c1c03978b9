"""The rotation that is exported gives what the network's own gives."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sapiens2.export.raw_network import fixed_rotations, rotate_rounded, round_to_bf16
from sapiens2.models.backbones import Sapiens2
from sapiens2.models.layers.rope import apply_rotary


def test_float32_arithmetic_rounds_as_bf16_does():
    torch.manual_seed(0)
    values = torch.cat((torch.randn(100_000) * 10.0 ** torch.randint(-20, 20, (100_000,)),
                        torch.tensor([0.0, -0.0, 1.0, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 257.0, 259.0])))
    assert torch.equal(round_to_bf16(values), values.bfloat16().float())


@pytest.mark.parametrize('dtype', [torch.float32, torch.float16, torch.bfloat16])
def test_rotation_by_float32_tables_is_that_by_bf16_tables(dtype):
    torch.manual_seed(0)
    x, angles = torch.randn(2, 50, 3, 16).to(dtype), (10 * torch.randn(50, 8)).repeat(1, 2)
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    found = rotate_rounded(x, cos.float(), sin.float())
    assert found.dtype == dtype and torch.equal(found, apply_rotary(x, cos, sin))


@pytest.mark.parametrize('rope_dtype', ['bf16', 'fp32'])
@pytest.mark.parametrize('in_float32', [True, False])
def test_fixed_rotations_change_no_value_and_are_taken_back(rope_dtype, in_float32):
    torch.manual_seed(0)
    model = Sapiens2('sapiens2_nano', img_size=(64, 48), rope_dtype=rope_dtype).eval()
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, std=0.3)  # with the initial layer scale the attention would hardly count
    images, rope = torch.randn(2, 3, 64, 48), model.rope_embed
    with torch.inference_mode():
        expected, = model(images)
        with fixed_rotations(model, in_float32):
            found, = model(images)
            assert model.rope_embed is not rope
    assert torch.equal(found, expected) and model.rope_embed is rope
    assert not any('rotate' in vars(module) for module in model.modules())


def test_backbones_without_rotations_stay_as_they_are():
    backbone = nn.Conv2d(3, 8, 16)
    with fixed_rotations(backbone, in_float32=True):
        assert not list(backbone.children())
