"""bf16 networks on a CPU that has no instructions for bf16."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial

import pytest
import torch
from torch import distributed, nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from sapiens2.models.checkpoints.build import build_model
from sapiens2.models.layers import cpu_float32
from sapiens2.models.layers.cpu_float32 import in_float32, needs_float32
from sapiens2.models.layers.int8_linear import to_int8

SEG = dict(
    type='DenseEstimator',
    backbone=dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48), use_tokenizer=False),
    decode_head=dict(type='SegHead', deconv_out_channels=(16, 16), deconv_kernel_sizes=(4, 4),
                     conv_out_channels=(16,), conv_kernel_sizes=(1,), num_classes=5))


@pytest.fixture
def without_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_float32, 'has_bf16', lambda: False)


def seen_dtypes(model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> set[torch.dtype]:
    """Dtypes in which the layers of ``model`` compute for one image."""
    seen = set()
    for kind in (nn.Linear, nn.Conv2d, nn.ConvTranspose2d):
        forward = kind.forward

        def watched(layer: nn.Module, x: torch.Tensor, *args: object, forward=forward) -> torch.Tensor:  # noqa: ANN001
            seen.add(x.dtype)
            seen.add(layer.weight.dtype)
            return forward(layer, x, *args)

        monkeypatch.setattr(kind, 'forward', watched)
    with torch.inference_mode():
        model(torch.randn(1, 3, 64, 48))
    monkeypatch.undo()
    return seen


def test_all_layers_compute_in_float32_and_their_weights_stay_bf16(without_bf16, monkeypatch) -> None:
    torch.manual_seed(0)
    model = build_model(SEG, 'random', 'cpu', torch.bfloat16).eval()
    assert seen_dtypes(model, monkeypatch) == {torch.float32}
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    monkeypatch.setattr(cpu_float32, 'has_bf16', lambda: True)
    assert seen_dtypes(model, monkeypatch) == {torch.bfloat16}


def test_results_are_those_of_float32_rounded_between_layers(without_bf16, monkeypatch) -> None:
    torch.manual_seed(0)
    model = build_model(SEG, 'random', 'cpu', torch.bfloat16).eval()
    exact = build_model(SEG, 'random', 'cpu', torch.float32).eval()
    exact.load_state_dict(model.state_dict())
    image = torch.randn(2, 3, 64, 48)
    with torch.inference_mode():
        reference = exact(image)
        mixed = model(image)
        monkeypatch.setattr(cpu_float32, 'has_bf16', lambda: True)
        low = model(image)
    assert mixed.dtype == low.dtype == torch.bfloat16
    error, low_error = ((value.float() - reference).norm() / reference.norm() for value in (mixed, low))
    assert error < 0.03 and error <= low_error


def test_a_copy_shares_what_is_float32_already_and_int8_weights() -> None:
    block = build_model(SEG, 'random', 'cpu', torch.bfloat16).backbone.blocks[0]
    norm = nn.RMSNorm(4)
    assert in_float32(norm).weight.data_ptr() == norm.weight.data_ptr()
    to_int8(block)
    copied = in_float32(block)
    assert copied.ffn.w3.quantized is block.ffn.w3.quantized
    assert (copied.ffn.w3.weight.dtype, block.ffn.w3.weight.dtype) == (torch.float32, torch.bfloat16)
    assert block.attn.q_norm.weight.dtype == torch.bfloat16 and copied.attn.q_norm.weight.dtype == torch.float32


@pytest.fixture
def one_process() -> Iterator[None]:
    distributed.init_process_group('gloo', store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_blocks_that_fsdp_divides_and_recomputes(without_bf16, one_process) -> None:
    block = build_model(SEG, 'random', 'cpu').backbone.blocks[0].eval()
    plain = copy.deepcopy(block).bfloat16()
    fully_shard(block, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    x = torch.randn(1, 12, plain.ln1.normalized_shape[0], dtype=torch.bfloat16)
    with torch.no_grad():
        torch.testing.assert_close(block(x), plain(x), rtol=0, atol=0)


def test_only_values_in_bf16_without_gradient(without_bf16) -> None:
    x = torch.ones(2, dtype=torch.bfloat16)
    assert not needs_float32(x)
    with torch.no_grad():
        assert needs_float32(x) and not needs_float32(x.float()) and not needs_float32(x.to('meta'))
        with torch.autocast('cpu', dtype=torch.bfloat16):
            assert not needs_float32(x)
