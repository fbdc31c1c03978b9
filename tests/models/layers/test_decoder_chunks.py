"""Stages of decoders in chunks give what they give in one go, and the same gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sapiens2.models.layers import decoder_chunks
from sapiens2.models.layers.decoder import ChannelRMSNorm, convs, deconvs, pixel_shuffle_blocks
from sapiens2.models.layers.decoder_chunks import last_layer
from sapiens2.models.layers.tokenizer import WindowTokenizer

STAGES = {
    'convolution': lambda norm, **options: convs(6, [17, 5], [3, 1], norm, **options),
    'strided': lambda norm, **options: convs(6, [17, 5], [3, 1], norm, stride=2, **options),
    'deconvolution': lambda norm, **options: deconvs(6, [17, 20], [4, 3], norm, **options),
    'pixel shuffle': lambda norm, **options: pixel_shuffle_blocks(6, [5, 7], norm, **options),
}


class Largest:
    """Notes the most values that an intermediate result of norm or activation had."""

    def __init__(self, module: nn.Module) -> None:
        self.values = 0
        for layer in module.modules():
            if isinstance(layer, nn.SiLU):
                layer.register_forward_hook(self)

    def __call__(self, layer: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        self.values = max(self.values, output.numel())


def run(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The result and the gradients of input and parameters."""
    x = x.clone().requires_grad_()
    out = module(x)
    inputs = [x, *module.parameters()]
    return out.detach(), list(torch.autograd.grad((out * torch.linspace(-1, 1, out.shape[-1])).sum(), inputs))


@pytest.mark.parametrize('norm', [nn.InstanceNorm2d, ChannelRMSNorm])
@pytest.mark.parametrize('kind', STAGES)
def test_chunks_change_neither_values_nor_gradients(kind, norm, monkeypatch):
    torch.manual_seed(0)
    whole, x = STAGES[kind](norm).double(), torch.randn(2, 6, 9, 7).double()
    most = Largest(whole)
    expected, gradients = run(whole, x)
    whole_values = most.values
    chunked = STAGES[kind](norm, with_cp=True).double()
    chunked.load_state_dict(whole.state_dict())
    largest = Largest(chunked)
    monkeypatch.setattr(decoder_chunks, 'CHUNK_VALUES', 64)
    monkeypatch.setattr(decoder_chunks, 'MIN_CHANNELS', 4)
    out, found = run(chunked, x)
    # The norm over channels computes in float32 whatever it is given.
    tolerance = dict(rtol=1e-7, atol=1e-7) if norm is nn.InstanceNorm2d else dict(rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(out, expected, **tolerance)
    for ours, theirs in zip(found, gradients):
        torch.testing.assert_close(ours, theirs, **tolerance)
    with torch.inference_mode():
        torch.testing.assert_close(whole(x).clone(), expected, **tolerance)
    divided = norm is nn.InstanceNorm2d or kind in ('convolution', 'pixel shuffle')
    assert (largest.values < whole_values) == divided


def test_without_recomputation_training_runs_whole(monkeypatch):
    stage = convs(4, [16], [3])
    largest = Largest(stage)
    monkeypatch.setattr(decoder_chunks, 'CHUNK_VALUES', 1)
    x = torch.randn(1, 4, 5, 6, requires_grad=True)
    stage(x)
    assert largest.values == 16 * 30
    with torch.no_grad():
        stage[2].register_forward_hook(lambda *_: pytest.fail('whole') if _[2].numel() == 16 * 30 else None)
        stage(x)


def test_a_stage_with_an_adapter_is_not_divided(monkeypatch):
    class Twice(nn.Conv2d):
        def forward(self, x):
            return 2 * super().forward(x)

    stage = convs(4, [16], [3], norm=lambda channels: nn.InstanceNorm2d(channels, eps=1.0))
    stage[0] = Twice(4, 16, 3, padding=1)
    x = torch.randn(1, 4, 5, 6)
    monkeypatch.setattr(decoder_chunks, 'CHUNK_VALUES', 1)
    with torch.no_grad():
        torch.testing.assert_close(stage(x), stage[2](stage[1](stage[0](x))))


def test_last_layer_in_bands(monkeypatch):
    layer, x, heights = nn.Conv2d(6, 3, 1), torch.randn(2, 6, 9, 7), []
    expected = layer(x)
    layer.register_forward_pre_hook(lambda module, inputs: heights.append(inputs[0].shape[2]))
    monkeypatch.setattr(decoder_chunks, 'CHUNK_VALUES', 2 * 6 * 7 * 4)
    with torch.no_grad():
        torch.testing.assert_close(last_layer(layer, x), expected)
    assert heights == [4, 4, 1]


def test_windows_in_chunks_change_neither_values_nor_gradients():
    torch.manual_seed(0)
    whole = WindowTokenizer(16, 2, 2, 24).double()
    for parameter in whole.parameters():
        nn.init.normal_(parameter, std=0.3)
    x = torch.randn(2, 16, 12, 8).double()
    expected, gradients = run(whole, x)
    whole.chunk_size = 5
    out, found = run(whole, x)
    torch.testing.assert_close(out, expected)
    for ours, theirs in zip(found, gradients):
        torch.testing.assert_close(ours, theirs)
