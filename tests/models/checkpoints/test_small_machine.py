"""Networks in less memory: equal outputs of streamed layers, and int8 weights near the original."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from sapiens2.models.checkpoints import build_model, small_machine
from sapiens2.models.checkpoints.errors import CheckpointMismatch
from sapiens2.models.checkpoints.small_machine import build_for_inference
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.write import write_safetensors
from sapiens2.models.layers.int8_linear import Int8Linear
from sapiens2.utils.memory import NotEnoughMemory

CPU = torch.device('cpu')
HEAD = dict(type='NormalHead', upsample_channels=[8, 8, 8, 4], conv_out_channels=[4], conv_kernel_sizes=[3])
NANO_V1 = dict(embed_dims=48, num_layers=3, num_heads=3, feedforward_channels=96)
BACKBONES = {
    'sapiens2': dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48)),
    '4k tokenizer': dict(type='Sapiens2', arch='sapiens2_nano', img_size=(256, 192), use_tokenizer=True),
    'v1': dict(type='Sapiens', arch=NANO_V1, img_size=(64, 48)),
    # Enough tokens for chunks and reordered copies.
    'chunks': dict(type='Sapiens2', arch='sapiens2_nano', img_size=(512, 320)),
}


def estimator(backbone: str = 'sapiens2') -> dict:
    return dict(type='DenseEstimator', backbone=BACKBONES[backbone], decode_head=HEAD)


def saved(path: Path, config: dict, dtype: torch.dtype) -> Path:
    torch.manual_seed(0)
    state = build_model(config, 'random', device='cpu', dtype=dtype).state_dict()
    if path.suffix == '.pth':
        torch.save(state, path)
    else:
        write_safetensors(path, {name: StoredTensor((tensor,)) for name, tensor in state.items()})
    return path


def predict(model: nn.Module, batch: int = 1) -> Tensor:
    images = torch.randn(batch, 3, *model.backbone.img_size, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        return model.eval()(images)


@pytest.fixture()
def weights(tmp_path: Path) -> Path:
    return saved(tmp_path / 'weights.safetensors', estimator(), torch.float32)


@pytest.mark.parametrize('name, stored, dtype', [
    ('w.safetensors', torch.float32, torch.float32), ('w.safetensors', torch.bfloat16, torch.bfloat16),
    ('w.safetensors', torch.float32, torch.bfloat16), ('w.pth', torch.float32, torch.bfloat16)])
@pytest.mark.parametrize('backbone', BACKBONES)
def test_streamed_layers_give_the_same_to_the_bit(backbone: str, name: str, stored: torch.dtype, dtype: torch.dtype,
                                                  tmp_path: Path) -> None:
    path = saved(tmp_path / name, estimator(backbone), stored)
    kept = build_for_inference(estimator(backbone), path, CPU, dtype, 'never')
    streamed = build_for_inference(estimator(backbone), path, CPU, dtype, 'always')
    for batch in (1, 2, 1):
        assert torch.equal(predict(streamed, batch), predict(kept, batch))


def test_blocks_are_in_memory_only_while_they_compute(weights: Path) -> None:
    model = build_for_inference(estimator(), weights, CPU, torch.float32, 'always')
    blocks = model.backbone.blocks

    def loaded() -> list[int]:
        return [index for index, block in enumerate(blocks) if not any(p.is_meta for p in block.parameters())]

    seen: list[list[int]] = []
    for block in blocks:
        block.ffn.register_forward_hook(lambda *_: seen.append(loaded()))
    assert loaded() == []
    predict(model)
    assert seen == [[index] for index in range(len(blocks))] and loaded() == []
    assert not any(p.is_meta for p in (*model.decode_head.parameters(), *model.backbone.patch_embed.parameters()))


def test_a_network_works_on_after_an_error_inside_a_block(weights: Path) -> None:
    model = build_for_inference(estimator(), weights, CPU, torch.float32, 'always')
    expected = predict(model)

    def fail(*_: object) -> None:
        raise RuntimeError('of the test')

    hook = model.backbone.blocks[1].ffn.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match='of the test'):
        predict(model)
    assert all(p.is_meta for p in model.backbone.blocks[1].parameters())
    hook.remove()
    assert torch.equal(predict(model), expected)


def test_auto_streams_where_the_weights_do_not_fit_and_says_so(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(small_machine, 'print_log', lambda text, **_: lines.append(text))
    size = sum(p.numel() for p in build_model(estimator(), weights, device='cpu').parameters()) * 4 / 2**30
    monkeypatch.setattr(small_machine, 'available_gib', lambda: 2 * size)
    assert not any(p.is_meta for p in build_for_inference(estimator(), weights, CPU, torch.float32).parameters())
    assert lines == []
    monkeypatch.setattr(small_machine, 'available_gib', lambda: 1.24 * size)
    model = build_for_inference(estimator(), weights, CPU, torch.float32)
    assert any(p.is_meta for p in model.parameters())
    assert 'do not fit' in lines[0] and str(weights) in lines[0] and 'Larger batches' in lines[0]
    never = build_for_inference(estimator(), weights, CPU, torch.float32, 'never')
    assert not any(p.is_meta for p in never.parameters())


def test_too_little_memory_even_for_a_few_blocks(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_machine, 'available_gib', lambda: 1e-5)
    for stream_layers in ('auto', 'always'):
        with pytest.raises(NotEnoughMemory, match='Close other programs, or choose a smaller model'):
            build_for_inference(estimator(), weights, CPU, torch.float32, stream_layers)


def test_a_checkpoint_of_another_network_is_refused_before_it_is_read(weights: Path) -> None:
    with pytest.raises(CheckpointMismatch):
        build_for_inference(estimator('v1'), weights, CPU, torch.float32, 'always')


@pytest.mark.parametrize('options, error, text', [
    (dict(stream_layers='allways'), ValueError, 'always'),
    (dict(stream_layers='always', int8_weights=True), ValueError, 'choose one'),
    (dict(stream_layers='always', checkpoint='random'), ValueError, 'from a file'),
    (dict(int8_weights=True, device=torch.device('cuda')), ValueError, 'for the CPU, not for cuda'),
])
def test_options_that_do_not_go_together(options: dict, error: type[Exception], text: str, weights: Path) -> None:
    options = {'checkpoint': weights, 'device': CPU, 'dtype': torch.float32, **options}
    with pytest.raises(error, match=text):
        build_for_inference(estimator(), **options)


def test_int8_that_does_not_fit(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_machine, 'available_gib', lambda: 1e-5)
    with pytest.raises(NotEnoughMemory, match='--stream-layers always'):
        build_for_inference(estimator(), weights, CPU, torch.float32, int8_weights=True)


@pytest.mark.parametrize('dtype', [torch.float32, torch.bfloat16])
@pytest.mark.parametrize('backbone', BACKBONES)
def test_int8_weights_are_near_the_original_and_one_byte_each(backbone: str, dtype: torch.dtype,
                                                              tmp_path: Path) -> None:
    path = saved(tmp_path / 'w.safetensors', estimator(backbone), torch.float32)
    plain = build_for_inference(estimator(backbone), path, CPU, dtype, 'never')
    small = build_for_inference(estimator(backbone), path, CPU, dtype, int8_weights=True)
    blocks, _ = small.backbone.blocks_and_norm()
    layers = [module for module in blocks.modules() if isinstance(module, Int8Linear)]
    assert layers and all(layer.quantized.dtype == torch.int8 for layer in layers)
    assert not any(isinstance(module, nn.Linear) for module in blocks.modules())
    expected = predict(plain).float()
    assert 0 < (predict(small).float() - expected).norm() / expected.norm() < 0.03


def test_rounding_is_at_most_half_a_step_and_keeps_zeros() -> None:
    linear = nn.Linear(40, 300)
    linear.weight.data[7] = 0
    layer = Int8Linear(linear)
    step = linear.weight.abs().amax(1, keepdim=True) / 127
    assert ((layer.weight - linear.weight).abs() <= 0.501 * step).all() and not layer.weight[7].any()
    x = torch.randn(3, 40)
    torch.testing.assert_close(layer(x), x @ layer.weight.T + linear.bias)
