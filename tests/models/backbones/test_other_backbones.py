"""Sapiens v1 and the wrapper of timm."""

from __future__ import annotations

import pytest
import torch

from sapiens2.models.backbones.sapiens import Sapiens, resize_pos_embed
from sapiens2.models.backbones.timm_backbone import TimmBackbone
from sapiens2.utils.config_names import entry_faults


@pytest.mark.parametrize('arch, millions', [('sapiens_0.3b', 306), ('sapiens_0.6b', 634), ('sapiens_1b', 1138),
                                            ('sapiens_2b', 2132)])
def test_v1_sizes(arch, millions):
    with torch.device('meta'):
        model = Sapiens(arch)
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, rel=0.01)


def test_v1_runs_on_another_size():
    model = Sapiens('sapiens_nano', img_size=(64, 48)).eval()
    model.init_weights()
    assert model(torch.randn(1, 3, 96, 80))[0].shape == (1, 64, 6, 5)
    with pytest.raises(ValueError, match='not divisible by 16'):
        model(torch.randn(1, 3, 96, 81))


def test_v1_position_embedding_keeps_the_class_token_and_a_constant():
    embed = torch.cat((torch.randn(1, 1, 8), torch.ones(1, 12, 8)), dim=1)
    resized = resize_pos_embed(embed, (4, 3), (7, 9), 1)
    torch.testing.assert_close(resized[:, :1], embed[:, :1])
    torch.testing.assert_close(resized[:, 1:], torch.ones(1, 63, 8))


def test_timm_backbone_gives_feature_maps():
    pytest.importorskip('timm', exc_type=ImportError)
    model = TimmBackbone('vit_tiny_patch16_224', img_size=(64, 48), out_indices=(0, -1)).eval()
    maps = model(torch.randn(1, 3, 64, 48))
    assert [tuple(m.shape) for m in maps] == [(1, 192, 4, 3)] * 2
    assert model(torch.randn(1, 3, 96, 80))[0].shape == (1, 192, 6, 5)
    assert model.get_layer_depth('backbone.model.blocks.3.norm1.weight', 'backbone.') == (4, 14)
    with pytest.raises(ValueError, match='out_indices holds 12, but vit_tiny_patch16_224 has 12 blocks'):
        TimmBackbone('vit_tiny_patch16_224', out_indices=12)
    with pytest.raises(ValueError, match='vit_tiny_patch16_224'):
        TimmBackbone('vit_tiny_patch16_22')
    with pytest.raises(ValueError, match='resnet18'):
        TimmBackbone('resnet18')


def test_arguments_of_timm_are_taken_and_others_named():
    pytest.importorskip('timm', exc_type=ImportError)
    assert TimmBackbone('vit_tiny_patch16_224', img_size=(64, 48), depth=2).num_layers == 2
    with pytest.raises(ValueError, match="'dpth'.*Did you mean 'depth'"):
        TimmBackbone('vit_tiny_patch16_224', dpth=2)
    faults = list(entry_faults('model', dict(
        type='DenseEstimator', decode_head=dict(type='SegHead'),
        backbone=dict(type='TimmBackbone', model_name='vit_tiny_patch16_224', depth=2, img_sze=3))))
    assert len(faults) == 1 and 'model.backbone.img_sze' in faults[0] and 'img_size' in faults[0]


def test_initialising_keeps_the_weights_that_timm_has_loaded():
    pytest.importorskip('timm', exc_type=ImportError)
    model = TimmBackbone('test_vit', init_cfg=dict(type='Constant', layer='LayerNorm', val=0.5))
    before = model.model.blocks[0].attn.qkv.weight.clone()
    model.init_weights()
    assert torch.equal(model.model.blocks[0].attn.qkv.weight, before)
    assert (model.model.norm.weight == 0.5).all()
