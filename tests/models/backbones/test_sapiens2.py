"""The Sapiens2 backbone: sizes, outputs, freezing, gradients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sapiens2.models.backbones.sapiens2 import ARCHS, Sapiens2
from sapiens2.registry import MODELS

# Name -> shape and dtype of every tensor of the released backbones.
RELEASED = json.loads((Path(__file__).parent / 'backbone_state_dicts.json').read_text())
DEEP = dict(embed_dims=32, num_layers=18, num_heads=2, feedforward_channels=48, num_tokenizer_layers=1)


def nano(**kwargs) -> Sapiens2:
    torch.manual_seed(0)
    model = Sapiens2('sapiens2_nano', img_size=(64, 48), **kwargs)
    model.init_weights()
    return model.eval()


@pytest.mark.parametrize('name', RELEASED)
def test_names_shapes_and_dtypes_are_the_released_ones(name):
    options = dict(img_size=(4096, 3072), use_tokenizer=True) if name.endswith('_4k') else {}
    with torch.device('meta'):
        model = MODELS.build(dict(type='Sapiens2', arch=name.removesuffix('_4k'), **options))
    state = {key: [list(value.shape), str(value.dtype).removeprefix('torch.')]
             for key, value in model.state_dict().items()}
    assert state == RELEASED[name]


def test_shapes_of_the_three_outputs():
    x = torch.randn(2, 3, 64, 48)
    assert nano(out_type='raw')(x)[0].shape == (2, 9 + 12, 64)
    assert nano(out_type='cls_token')(x)[0].shape == (2, 64)
    maps = nano(out_indices=(0, -1))(x)
    assert [tuple(m.shape) for m in maps] == [(2, 64, 4, 3)] * 2


def test_middle_blocks_have_half_the_key_value_heads():
    model = Sapiens2(DEEP, img_size=32)
    assert [b.attn.num_kv_heads for b in model.blocks] == [2] * 8 + [1] * 2 + [2] * 8


@pytest.mark.parametrize('size, expected', [((70, 48), '(64, 48) or (80, 48)'), ((64, 8), '(64, 16)')])
def test_a_size_that_does_not_fit_names_those_that_do(size, expected):
    with pytest.raises(ValueError, match='not divisible by 16') as error:
        nano()(torch.zeros(1, 3, *size))
    assert expected in str(error.value)


def test_tokenizer_needs_whole_windows():
    model = Sapiens2('sapiens2_nano', img_size=(128, 64), use_tokenizer=True)
    assert model.eval()(torch.zeros(1, 3, 128, 64))[0].shape == (1, 64, 2, 1)
    with pytest.raises(ValueError, match='not divisible by 64'):
        model(torch.zeros(1, 3, 128, 80))


def test_tokenizer_chunks_change_nothing():
    torch.manual_seed(0)
    x = torch.randn(1, 3, 256, 128, requires_grad=True)
    results = []
    for chunk in (3, 1024):
        torch.manual_seed(1)
        model = Sapiens2('sapiens2_nano', img_size=(256, 128), use_tokenizer=True, tokenizer_chunk_size=chunk)
        model.init_weights()
        out = model(x)[0]
        results.append((out, torch.autograd.grad(out.square().sum(), x)[0]))
    torch.testing.assert_close(results[0][0], results[1][0])
    torch.testing.assert_close(results[0][1], results[1][1])


def test_unknown_arch_offers_the_nearest():
    with pytest.raises(ValueError, match="'sapiens2_1b'"):
        Sapiens2('sapiens2-1b')
    with pytest.raises(ValueError, match='lacks num_heads'):
        Sapiens2({k: v for k, v in DEEP.items() if k != 'num_heads'})
    with pytest.raises(ValueError, match="'embed_dims'"):
        Sapiens2({**DEEP, 'embed_dim': 32})


def test_activation_checkpointing_gives_the_same_gradients():
    x = torch.randn(1, 3, 64, 48)
    gradients = []
    for with_cp in (False, True):
        model = nano(with_cp=with_cp).train()
        model(x)[0].square().mean().backward()
        gradients.append([p.grad for p in model.parameters()])
    for plain, recomputed in zip(*gradients):
        torch.testing.assert_close(plain, recomputed)


def test_frozen_stages_get_no_gradient_and_stay_in_evaluation_mode():
    model = nano(frozen_stages=2, drop_path_rate=0.5).train()
    model(torch.randn(1, 3, 64, 48))[0].sum().backward()
    trained = {name.split('.')[0] + '.' + name.split('.')[1] for name, p in model.named_parameters()
               if p.grad is not None}
    assert trained == {'blocks.2', 'blocks.3', 'ln1.weight'}
    assert not model.blocks[1].training and model.blocks[2].training


def test_drop_path_is_random_in_training_only():
    torch.manual_seed(0)
    model = nano(drop_path_rate=0.9)
    x = torch.randn(2, 3, 64, 48)
    torch.testing.assert_close(model(x)[0], model(x)[0])
    model.train()
    assert not torch.equal(model(x)[0], model(x)[0])


def test_layer_depth_counts_from_the_embedding_to_the_head():
    model = nano()
    depth = {name: model.get_layer_depth(f'backbone.{name}', 'backbone.')[0] for name, _ in model.named_parameters()}
    assert depth['cls_token'] == depth['patch_embed.projection.weight'] == 0
    assert depth['blocks.0.ln1.weight'] == 1 and depth['blocks.3.ffn.w3.bias'] == 4
    assert depth['ln1.weight'] == 5 and model.get_layer_depth('decode_head.x', 'backbone.') == (5, 6)


def test_periods_keep_their_dtype_in_a_half_model():
    model = nano(rope_dtype='fp32')
    periods = model.rope_embed.periods.clone()
    model.to(torch.bfloat16)
    assert torch.equal(model.rope_embed.periods, periods) and periods.dtype == torch.float32
    assert model.cls_token.dtype == torch.bfloat16


def test_every_arch_can_be_built():
    for arch in ARCHS:
        with torch.device('meta'):
            assert Sapiens2(arch).num_layers == ARCHS[arch]['num_layers']
