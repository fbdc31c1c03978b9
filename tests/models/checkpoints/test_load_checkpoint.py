from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils.data import DataLoader

from sapiens2.models.backbones import Sapiens, Sapiens2
from sapiens2.models.checkpoints import CheckpointError, CheckpointMismatch, load_checkpoint, load_pickle, load_state
from sapiens2.models.checkpoints.report import collapse
from sapiens2.registry import MODELS

NANO = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48))
HEAD = dict(type='SegHead', num_classes=5, deconv_out_channels=[8], deconv_kernel_sizes=[4], conv_out_channels=[8],
            conv_kernel_sizes=[1])


def random_backbone(**options: Any) -> Sapiens2:
    model = MODELS.build({**NANO, **options})
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def estimator(**head: Any) -> nn.Module:
    return MODELS.build(dict(type='DenseEstimator', backbone=NANO, decode_head={**HEAD, **head}))


def assert_same(model: nn.Module, state: dict[str, Tensor]) -> None:
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, state[name]), name


@pytest.mark.parametrize('wrap', [
    lambda s: s,
    lambda s: {'state_dict': s, 'meta': {'epoch': 3}},
    lambda s: {'model': {f'module.{k}': v for k, v in s.items()},
               'optimizer': {'state': {0: {'exp_avg': torch.ones(1)}}}},
    lambda s: {f'module._orig_mod.model.{k}': v for k, v in s.items()},
    lambda s: {f'_orig_mod.module.backbone._orig_mod.{k}': v for k, v in s.items()},
    lambda s: {'state_dict': {'model': {'module': s}}},
    lambda s: {'model': {k: torch.zeros_like(v) for k, v in s.items()}, 'ema': {'module': s, 'decay': 0.99}},
    lambda s: {'student': {k: torch.zeros_like(v) for k, v in s.items()},
               'teacher': {f'backbone.{k}': v for k, v in s.items()}},
    lambda s: {**{f'student.backbone.{k}': torch.zeros_like(v) for k, v in s.items()},
               **{f'teacher.backbone.{k}': v for k, v in s.items()}},
    lambda s: {k.replace('blocks.1.', 'blocks.1._checkpoint_wrapped_module.'): v for k, v in s.items()},
], ids=['bare', 'state_dict', 'model module', 'compiled', 'compiled inside', 'nested', 'ema', 'teacher', 'flat teacher',
        'activation checkpointing'])
def test_wrappings_come_off(tmp_path: Path, wrap: Any) -> None:
    source = random_backbone().state_dict()
    torch.save(wrap(source), tmp_path / 'weights.pth')
    model = MODELS.build(NANO)
    report = load_checkpoint(model, tmp_path / 'weights.pth')
    assert report.matches and len(report.loaded) == len(source)
    assert_same(model, source)
    state, _ = load_state(tmp_path / 'weights.pth')
    assert {name.removeprefix('backbone.') for name in state} == set(source)


def test_names_that_clash_are_refused(tmp_path: Path) -> None:
    torch.save({'blocks.0.a': torch.ones(1), 'blocks.0.module.a': torch.ones(1)}, tmp_path / 'weights.pth')
    with pytest.raises(CheckpointError, match="weights.pth: the checkpoint holds 'blocks.0.a' twice"):
        load_state(tmp_path / 'weights.pth')


def test_a_wrapping_that_belongs_to_the_model_stays(tmp_path: Path) -> None:
    model = nn.ModuleDict({'model': nn.Linear(2, 2)})
    torch.save({'state_dict': model.state_dict()}, tmp_path / 'weights.pth')
    assert load_checkpoint(model, tmp_path / 'weights.pth').loaded == ['model.weight', 'model.bias']


def test_a_mismatch_is_refused_with_advice_and_changes_nothing(tmp_path: Path) -> None:
    save_file(random_backbone().state_dict(), tmp_path / 'nano.safetensors')
    model = random_backbone(arch='sapiens2_tiny')
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(CheckpointMismatch) as error:
        load_checkpoint(model, tmp_path / 'nano.safetensors')
    assert_same(model, before)
    assert error.value.report.misshapen and error.value.report.missing and not error.value.report.unexpected
    text = str(error.value)
    assert 'blocks.{4-11}.ln1.weight' in text
    assert 'blocks.{0-3}.attn.gamma.weight  file (64), model (192)' in text
    assert 'The file holds a Sapiens2 backbone, sapiens2_nano; the model is a Sapiens2 backbone, sapiens2_tiny.' in text
    assert "model = {'backbone': {'type': 'Sapiens2', 'arch': 'sapiens2_nano'}}" in text


def test_a_foreign_file_is_refused_even_when_not_strict(tmp_path: Path) -> None:
    save_file({'fc.weight': torch.ones(2, 2)}, tmp_path / 'other.safetensors')
    with pytest.raises(CheckpointMismatch, match='no backbone of this project'):
        load_checkpoint(MODELS.build(NANO), tmp_path / 'other.safetensors', strict=False)


def test_a_released_task_checkpoint_fills_estimator_and_backbone(tmp_path: Path) -> None:
    source = estimator()
    source.init_weights()
    save_file(source.state_dict(), tmp_path / 'seg.safetensors')
    whole = estimator()
    assert load_checkpoint(whole, tmp_path / 'seg.safetensors').matches
    assert_same(whole, source.state_dict())
    backbone = MODELS.build(NANO)
    report = load_checkpoint(backbone, tmp_path / 'seg.safetensors')
    assert report.matches and report.unused and all(name.startswith('decode_head.') for name in report.unused)
    assert_same(backbone, source.backbone.state_dict())


def test_a_backbone_alone_fills_an_estimator_only_when_asked(tmp_path: Path) -> None:
    source = random_backbone()
    save_file(source.state_dict(), tmp_path / 'backbone.safetensors')
    model = estimator()
    with pytest.raises(CheckpointMismatch, match='train the decoder anew, load it with strict=False'):
        load_checkpoint(model, tmp_path / 'backbone.safetensors')
    report = load_checkpoint(model, tmp_path / 'backbone.safetensors', strict=False)
    assert all(name.startswith('decode_head.') for name in report.missing)
    assert_same(model.backbone, source.state_dict())


def test_another_number_of_classes_is_named(tmp_path: Path) -> None:
    save_file(estimator().state_dict(), tmp_path / 'seg.safetensors')
    model = estimator(num_classes=7)
    with pytest.raises(CheckpointMismatch, match="model.decode_head = .*'num_classes': 5") as error:
        load_checkpoint(model, tmp_path / 'seg.safetensors')
    assert {name for name, *_ in error.value.report.misshapen} == {
        'decode_head.conv_seg.weight', 'decode_head.conv_seg.bias'}
    assert len(load_checkpoint(model, tmp_path / 'seg.safetensors', strict=False).misshapen) == 2


def test_the_periods_keep_the_dtype_of_the_model(tmp_path: Path) -> None:
    source = random_backbone()
    assert source.rope_embed.periods.dtype == torch.bfloat16
    save_file(source.state_dict(), tmp_path / 'weights.safetensors')
    for rope_dtype, dtype in (('bf16', torch.bfloat16), ('fp32', torch.float32)):
        for weights in (torch.float32, torch.float16, torch.bfloat16):
            model = MODELS.build({**NANO, 'rope_dtype': rope_dtype})
            load_checkpoint(model, tmp_path / 'weights.safetensors', dtype=weights)
            assert model.rope_embed.periods.dtype == dtype
            assert torch.equal(model.rope_embed.periods.float(), source.rope_embed.periods.float())
            assert all(parameter.dtype == weights for parameter in model.parameters())


def test_periods_that_the_file_lacks_are_those_of_the_model(tmp_path: Path) -> None:
    state = random_backbone().state_dict()
    periods = state.pop('rope_embed.periods')
    save_file(state, tmp_path / 'weights.safetensors')
    model = MODELS.build(NANO)
    report = load_checkpoint(model, tmp_path / 'weights.safetensors')
    assert report.matches and report.computed == ['rope_embed.periods']
    assert torch.equal(model.rope_embed.periods, periods)


def test_a_foreign_config_beside_the_weights_does_no_harm(tmp_path: Path) -> None:
    save_file(random_backbone().state_dict(), tmp_path / 'weights.safetensors')
    for content in ('[1]', '{"model_type": "bert"}'):
        (tmp_path / 'config.json').write_text(content)
        report = load_checkpoint(MODELS.build(NANO), tmp_path / 'weights.safetensors')
        assert report.matches and report.origin.config is None


def test_parameters_stay_the_same_objects(tmp_path: Path) -> None:
    save_file(random_backbone().state_dict(), tmp_path / 'weights.safetensors')
    model = MODELS.build(NANO)
    before = list(model.parameters())
    load_checkpoint(model, tmp_path / 'weights.safetensors')
    assert all(a is b for a, b in zip(before, model.parameters()))


def test_writing_to_mapped_weights_does_not_change_the_file(tmp_path: Path) -> None:
    save_file({'cls_token': torch.ones(1000)}, tmp_path / 'weights.safetensors')
    load_state(tmp_path / 'weights.safetensors')[0]['cls_token'].zero_()
    assert load_state(tmp_path / 'weights.safetensors')[0]['cls_token'].sum() == 1000


def test_v1_position_embedding_is_resized_and_the_class_token_dropped(tmp_path: Path) -> None:
    square = MODELS.build(dict(type='Sapiens', arch='sapiens_nano', img_size=(64, 64), with_cls_token=True))
    for parameter in square.parameters():
        nn.init.normal_(parameter)
    ramp = torch.arange(4.0)[:, None].expand(4, 4).reshape(1, 16, 1).expand(1, 16, 64)
    square.pos_embed.data[:, 1:] = ramp
    torch.save({'state_dict': {f'backbone.{k}': v for k, v in square.state_dict().items()}}, tmp_path / 'v1.pth')
    model: Sapiens = MODELS.build(dict(type='Sapiens', arch='sapiens_nano', img_size=(64, 48)))
    report = load_checkpoint(model, tmp_path / 'v1.pth')
    assert report.matches and report.unused == ['cls_token']
    assert report.resized == [('pos_embed', (4, 4), (4, 3))]
    # Rows keep their values when only the number of columns changes.
    torch.testing.assert_close(model.pos_embed.data.view(4, 3, 64)[:, 1], torch.arange(4.0)[:, None].expand(4, 64))
    assert torch.equal(model.layers[1].attn.qkv.weight, square.layers[1].attn.qkv.weight)


def test_v1_in_place_of_v2_is_refused_with_advice(tmp_path: Path) -> None:
    torch.save(MODELS.build(dict(type='Sapiens', arch='sapiens_nano')).state_dict(), tmp_path / 'v1.pth')
    with pytest.raises(CheckpointMismatch, match=r"This fits: model = \{'backbone': \{'type': 'Sapiens', "):
        load_checkpoint(MODELS.build(NANO), tmp_path / 'v1.pth')


SEG_HEAD = dict(type='SegHead', num_classes=29, deconv_out_channels=(8, 8, 8, 8), deconv_kernel_sizes=(4, 4, 4, 4),
                conv_out_channels=(8, 8), conv_kernel_sizes=(1, 1))
POINTMAP_HEAD = dict(
    type='PointmapHead', upsample_channels=(8, 8, 8, 8), conv_out_channels=(4,), conv_kernel_sizes=(3,),
    scale_conv_out_channels=(8, 8, 4), scale_conv_kernel_sizes=(3, 1, 1), scale_final_layer=(4, 16, 1))


@pytest.mark.parametrize('head', [SEG_HEAD, {**SEG_HEAD, 'num_classes': 5}, POINTMAP_HEAD])
def test_the_suggested_config_fits(tmp_path: Path, head: dict[str, Any]) -> None:
    def build(**parts: Any) -> nn.Module:
        return MODELS.build(dict(type='DenseEstimator', **parts))

    model = build(backbone=NANO, decode_head=dict(head))
    torch.save(model.state_dict(), tmp_path / 'weights.pth')
    other = dict(type='NormalHead', upsample_channels=(8, 8, 8, 8), conv_out_channels=(4,), conv_kernel_sizes=(3,))
    with pytest.raises(CheckpointMismatch) as caught:
        load_checkpoint(build(backbone=NANO, decode_head=other), tmp_path / 'weights.pth')
    suggested = ast.literal_eval(re.search(r'This fits: model = (.*)\.', caught.value.suggestion)[1])
    assert load_checkpoint(build(backbone={**NANO, **suggested['backbone']}, decode_head=suggested['decode_head']),
                           tmp_path / 'weights.pth').matches
    assert 'Such a config is' not in caught.value.suggestion


class Toy(BaseModel):
    """Something that MMEngine can train."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MODELS.build(NANO)

    def forward(self, inputs: Tensor, mode: str = 'tensor') -> dict[str, Tensor]:
        return {'loss': self.backbone(inputs)[-1].square().mean()}

    def data_preprocessor(self, data: Tensor, training: bool = False) -> dict[str, Tensor]:
        return {'inputs': data}


def test_a_checkpoint_that_mmengine_saved(tmp_path: Path) -> None:
    runner = Runner(
        Toy(), work_dir=str(tmp_path), train_dataloader=DataLoader([torch.ones(3, 64, 48)] * 2),
        train_cfg=dict(by_epoch=False, max_iters=2), optim_wrapper=dict(optimizer=dict(type='SGD', lr=0.1)),
        param_scheduler=dict(type='LinearLR', end=2, by_epoch=False), default_scope='sapiens2',
        default_hooks=dict(checkpoint=dict(type='CheckpointHook', interval=2, by_epoch=False)),
        log_level='WARNING', experiment_name='checkpoint_of_mmengine', cfg=dict(lr=np.float64(0.1)))
    trained = runner.train()
    path = tmp_path / 'iter_2.pth'
    model = MODELS.build(NANO)
    report = load_checkpoint(model, path)
    assert report.matches and report.origin.wrapping == 'state_dict.'
    assert_same(model, trained.backbone.state_dict())
    content = load_pickle(path)
    assert content['meta']['iter'] == 2
    assert content['message_hub']['log_scalars']['train/loss'].mean() > 0


def test_names_with_numbers_share_a_row() -> None:
    assert collapse(['a.0.b', 'a.1.b', 'a.2.b', 'a.7.b', 'c', 'a.0.d']) == ['a.{0-2,7}.b', 'c', 'a.0.d']
