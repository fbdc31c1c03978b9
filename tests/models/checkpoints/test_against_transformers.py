"""The transformers package must give the same numbers with the same weights, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sapiens2.models.checkpoints import build_model
from sapiens2.models.checkpoints.convert import convert

transformers = pytest.importorskip('transformers', minversion='5.24')

IMAGE = (64, 48)
ARCH = dict(embed_dims=64, num_layers=17, num_heads=4, feedforward_channels=128, num_tokenizer_layers=1)
BACKBONE = dict(type='Sapiens2', arch=ARCH, img_size=IMAGE, rope_dtype='fp32')
DECONVS = dict(conv_kernel_sizes=[1, 1], conv_out_channels=[16, 12])
SHUFFLES = dict(conv_kernel_sizes=[3, 3], conv_out_channels=[8, 4])
# Task -> class of transformers, name of its output, its head, head of this project.
TASKS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    'pose': (
        'Sapiens2ForPoseEstimation', 'heatmaps',
        dict(**DECONVS, upsample_out_channels=[24, 16], upsample_kernel_sizes=[4, 4], num_labels=308),
        dict(type='PoseHeatmapHead', **DECONVS, out_channels=308, deconv_out_channels=[24, 16],
             deconv_kernel_sizes=[4, 4])),
    'seg': (
        'Sapiens2ForSemanticSegmentation', 'logits',
        dict(**DECONVS, upsample_out_channels=[24, 16, 8, 8], upsample_kernel_sizes=[4] * 4, num_labels=29),
        dict(type='SegHead', **DECONVS, num_classes=29, deconv_out_channels=[24, 16, 8, 8],
             deconv_kernel_sizes=[4] * 4)),
    'normal': (
        'Sapiens2ForNormalEstimation', 'normals',
        dict(**SHUFFLES, upsample_out_channels=[24, 16, 8, 8], upsample_kernel_sizes=[3] * 4, num_labels=3,
             use_pixel_shuffle=True),
        dict(type='NormalHead', **SHUFFLES, upsample_channels=[24, 16, 8, 8])),
    'pointmap': (
        'Sapiens2ForPointmapEstimation', 'pointmaps',
        dict(**SHUFFLES, upsample_out_channels=[24, 16, 8, 8], upsample_kernel_sizes=[3] * 4, num_labels=3,
             use_pixel_shuffle=True, scale_conv_out_channels=[16], scale_conv_kernel_sizes=[1],
             scale_final_input_size=16 * 2 * 2, scale_final_hidden_sizes=[12, 6]),
        dict(type='PointmapHead', **SHUFFLES, upsample_channels=[24, 16, 8, 8], scale_conv_out_channels=[16],
             scale_conv_kernel_sizes=[1], scale_final_layer=[64, 12, 6, 1])),
}


def their_model(task: str) -> nn.Module:
    """A random model of transformers."""
    torch.manual_seed(0)
    config = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=17, num_attention_heads=4,
                  num_key_value_attention_heads=2, image_size=list(IMAGE))
    if task == 'pretrain':
        model = transformers.Sapiens2Model(transformers.Sapiens2Config(**config))
    else:
        name, _, head, _ = TASKS[task]
        num_labels = head['num_labels']
        head = {key: value for key, value in head.items() if key != 'num_labels'}
        model = getattr(transformers, name)(
            transformers.Sapiens2Config(**config, head_config=head, num_labels=num_labels))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)
    return model.eval()


def our_config(task: str) -> dict[str, Any]:
    if task == 'pretrain':
        return dict(BACKBONE, out_type='raw')
    estimator = 'TopdownPoseEstimator' if task == 'pose' else 'DenseEstimator'
    return dict(type=estimator, backbone=BACKBONE, decode_head=TASKS[task][3])


@torch.no_grad()
def their_outputs(model: nn.Module, task: str, images: Tensor) -> list[Tensor]:
    output = model(images)
    if task == 'pretrain':
        return [output.last_hidden_state]
    outputs = [output[TASKS[task][1]]]
    return outputs + [output.scales] if task == 'pointmap' else outputs


@torch.no_grad()
def our_outputs(model: nn.Module, images: Tensor) -> list[Tensor]:
    output = model.eval()(images)
    return list(output) if isinstance(output, tuple) else [output]


def assert_equal_outputs(ours: nn.Module, theirs: nn.Module, task: str) -> None:
    images = torch.randn(2, 3, *IMAGE, generator=torch.Generator().manual_seed(1))
    got, expected = our_outputs(ours, images), their_outputs(theirs, task, images)
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        torch.testing.assert_close(a.reshape(b.shape), b, rtol=1e-4, atol=1e-5)
        assert b.std() > 1e-4, 'the comparison must be of numbers that differ from one another'


@pytest.mark.parametrize('task', ['pretrain', *TASKS])
def test_their_checkpoints_load_strictly_and_give_equal_outputs(task: str, tmp_path: Path) -> None:
    theirs = their_model(task)
    theirs.save_pretrained(tmp_path / 'released names')
    theirs.save_pretrained(tmp_path / 'shards', max_shard_size='500KB')
    theirs.save_pretrained(tmp_path / 'their names', save_original_format=False)
    torch.save({'model': theirs.state_dict(), 'epoch': 3}, tmp_path / 'state_dict.pth')
    ours = build_model(our_config(task), tmp_path / 'released names', device='cpu')
    assert_equal_outputs(ours, theirs, task)
    for name in ('shards', 'their names', 'state_dict.pth'):
        other = build_model(our_config(task), tmp_path / name, device='cpu').state_dict()
        assert all(torch.equal(tensor, other[key]) for key, tensor in ours.state_dict().items()), name


@pytest.mark.parametrize('task', ['pretrain', *TASKS])
def test_our_checkpoints_load_there_and_back(task: str, tmp_path: Path) -> None:
    ours = build_model(our_config(task), device='cpu')
    torch.manual_seed(0)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.1)
    torch.save({'state_dict': ours.state_dict(), 'meta': {'epoch': 1}}, tmp_path / 'ours.pth')
    convert(tmp_path / 'ours.pth', tmp_path / 'there', 'transformers', img_size=IMAGE)

    name = 'AutoModel' if task == 'pretrain' else TASKS[task][0]
    theirs, info = getattr(transformers, name).from_pretrained(tmp_path / 'there', output_loading_info=True)
    assert not any(info.values()), info
    assert theirs.config.image_size in (IMAGE, list(IMAGE))
    assert_equal_outputs(ours, theirs.eval(), task)

    theirs.save_pretrained(tmp_path / 'resaved')
    convert(tmp_path / 'resaved', tmp_path / 'back.safetensors', 'released')
    back = build_model(our_config(task), tmp_path / 'back.safetensors', device='cpu')
    for (key, a), b in zip(ours.state_dict().items(), back.state_dict().values()):
        if not key.endswith('periods'):
            assert torch.equal(a, b), key


def test_matting_is_refused_by_name(tmp_path: Path) -> None:
    config = transformers.Sapiens2Config(
        hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, num_labels=4,
        head_config=dict(**SHUFFLES, upsample_out_channels=[8], upsample_kernel_sizes=[3], use_pixel_shuffle=True))
    transformers.Sapiens2ForImageMatting(config).save_pretrained(tmp_path, save_original_format=False)
    with pytest.raises(RuntimeError, match='Sapiens2ForImageMatting of transformers has no counterpart'):
        build_model(our_config('normal'), tmp_path, device='cpu')
