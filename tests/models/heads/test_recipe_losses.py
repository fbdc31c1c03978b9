"""Each head with the losses of its released recipe."""

from __future__ import annotations

import math

import pytest
import torch
from mmengine.structures import BaseDataElement

from sapiens2.registry import MODELS
from sapiens2.structures import DataSample

TRUNK = dict(in_channels=8, upsample_channels=(4, 4), conv_out_channels=(4,), conv_kernel_sizes=(3,))
DECONV = dict(in_channels=8, deconv_out_channels=(4, 4), deconv_kernel_sizes=(4, 4), conv_out_channels=(4,),
              conv_kernel_sizes=(1,))
HEADS = {
    'seg': dict(type='SegHead', num_classes=3, **DECONV, loss_decode=[
        dict(type='CrossEntropyLoss', reduction='none', class_weight=[0.1, 10, 3]),
        dict(type='DiceLoss', reduction='none')]),
    'pose': dict(type='PoseHeatmapHead', out_channels=17, metainfo='coco', **DECONV,
                 loss_decode=dict(type='KeypointMSELoss', loss_weight=10.0)),
    'normal': dict(type='NormalHead', **TRUNK, loss_decode=[
        dict(type='NormalCosineSimilarityLoss', loss_weight=10.0), dict(type='L1Loss'),
        dict(type='GradientMSELoss', loss_weight=10.0)]),
    'albedo': dict(type='AlbedoHead', **TRUNK, loss_decode=[
        dict(type='L1Loss', loss_weight=2.0),
        dict(type='GradientMSELoss', loss_weight=2.0, average_directions=True),
        dict(type='AlbedoChromaticityL1Loss')]),
    'pointmap': dict(
        type='PointmapHead', scale_conv_out_channels=(4, 4), scale_conv_kernel_sizes=(1, 1),
        scale_final_layer=(16, 3, 1), **TRUNK, loss_decode=[
            dict(type='L1Loss', loss_weight=2.0), dict(type='MultiscaleL1Loss'), dict(type='SiLogLoss'),
            dict(type='PointmapIntrinsicsConsistencyLoss'), dict(type='PointmapShiftInvariantL1Loss'),
            dict(type='PointmapNormalLoss', loss_weight=2.0), dict(type='PointmapScaleL1Loss', loss_weight=4.0)]),
}
SIZE = (24, 20)
TARGET = {'seg': 'sem_seg', 'pose': 'heatmaps', **{task: task for task in ('normal', 'albedo', 'pointmap')}}


def sample(name: str) -> DataSample:
    rays = torch.stack((*torch.meshgrid(torch.arange(24.0), torch.arange(20.0), indexing='ij'), torch.ones(SIZE)))
    return DataSample(metainfo=dict(sample_id=name), gt_fields=BaseDataElement(
        sem_seg=torch.randint(0, 3, SIZE), normal=torch.nn.functional.normalize(torch.randn(3, *SIZE), dim=0),
        albedo=torch.rand(3, *SIZE), pointmap=rays / 50 * (torch.rand(SIZE) + 1),
        K=torch.tensor([[50.0, 0, 10], [0, 50, 12], [0, 0, 1]]), mask=torch.rand(1, *SIZE) > 0.3,
        heatmaps=torch.rand(17, *SIZE), keypoint_weights=torch.ones(17)))


def run(task: str, spoil: float | None = None, inside: bool = False) -> tuple[dict[str, torch.Tensor], torch.nn.Module]:
    torch.manual_seed(0)
    head, samples = MODELS.build(HEADS[task]), [sample('a.jpg'), sample('b.jpg')]
    if spoil is not None:
        fields = samples[1].gt_fields
        fields.get(TARGET[task])[..., fields.mask[0] if inside else ~fields.mask[0]] = spoil
    losses = head.loss([torch.randn(2, 8, 6, 5)], samples)
    sum(loss.mean() for loss in losses.values()).backward()
    return losses, head


@pytest.mark.parametrize('task', HEADS)
def test_losses_and_gradients_are_finite(task):
    losses, head = run(task)
    assert len(losses) == (1 if task == 'pose' else len(HEADS[task]['loss_decode']))
    assert all(key.startswith('loss_') and torch.isfinite(loss).all() for key, loss in losses.items())
    assert all(torch.isfinite(p.grad).all() and p.grad.any() for name, p in head.named_parameters()
               # A norm without affine parameters takes away the bias of the layer before it.
               if not name.endswith('bias') or name.startswith('conv_' + task))


@pytest.mark.parametrize('task', ['normal', 'albedo', 'pointmap'])
def test_numbers_that_are_not_finite_count_only_inside_the_mask(task):
    losses, head = run(task, spoil=math.nan)
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert all(torch.isfinite(p.grad).all() for p in head.parameters())
    with pytest.raises(ValueError, match="b.jpg.*not finite"):
        run(task, spoil=math.inf, inside=True)


def test_a_label_beyond_the_classes_names_the_sample():
    with pytest.raises(ValueError, match=r'b.jpg.*\[7\]'):
        run('seg', spoil=7)
    losses, _ = run('seg', spoil=255)
    assert all(torch.isfinite(loss).all() for loss in losses.values())


@pytest.mark.parametrize('task', HEADS)
def test_losses_have_no_place_in_checkpoints(task):
    assert not [key for key in MODELS.build(HEADS[task]).state_dict() if key.startswith('loss')]
