"""Both estimators: assembly, modes, training and prediction steps of the runner, flip test."""

from __future__ import annotations

import pytest
import torch
from mmengine.optim import OptimWrapper
from mmengine.structures import BaseDataElement
from torch import Tensor, nn

from sapiens2.registry import MODELS
from sapiens2.structures import DataSample

NANO = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(64, 48))
NORMAL = dict(type='NormalHead', upsample_channels=(4, 4, 4, 4), conv_out_channels=(4,), conv_kernel_sizes=(3,))
POSE = dict(type='PoseHeatmapHead', out_channels=4, deconv_out_channels=(4, 4), deconv_kernel_sizes=(4, 4),
            conv_out_channels=(4,), conv_kernel_sizes=(1,), metainfo=dict(flip_indices=[0, 2, 1, 3]))


class L1(nn.Module):
    """Mean absolute error inside the mask."""

    inputs, loss_name = ('pred', 'target', 'mask'), 'loss_l1'

    def forward(self, pred: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        return ((pred - target).abs() * mask).mean()


class PatchMean(nn.Module):
    """A backbone that commutes with mirroring: the mean of each patch, in each of its channels."""

    embed_dims = 8

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 8)[:, None, None])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return (nn.functional.avg_pool2d(x.mean(1, keepdim=True), 16) * self.weight,)


class Mirrorable(nn.Module):
    """A head without left and right: its maps commute with mirroring, channel 1 and 2 being each other's mirror."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(8, 4, 4, stride=4)
        with torch.no_grad():
            weight = self.conv.weight
            weight[:, [0, 3]] = (weight + weight.flip(-1))[:, [0, 3]]
            weight[:, 2] = weight[:, 1].flip(-1)
            self.conv.bias[2] = self.conv.bias[1]

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


def dense(**kwargs):
    torch.manual_seed(0)
    head = dict(NORMAL, loss_decode=[L1(), L1()])
    return MODELS.build({'type': 'DenseEstimator', 'backbone': NANO, 'decode_head': head, **kwargs})


def batch(names: tuple[str, ...] = ('a', 'b'), **metainfo) -> dict:
    metainfo = dict(ori_shape=(30, 40), input_center=(20.0, 15.0), input_scale=(36.0, 48.0), **metainfo)
    fields = dict(normal=torch.ones(3, 64, 48), mask=torch.ones(1, 64, 48, dtype=torch.bool))
    generator = torch.Generator().manual_seed(0)
    return dict(
        inputs=[torch.randint(0, 256, (3, 64, 48), dtype=torch.uint8, generator=generator) for _ in names],
        data_samples=[
            DataSample(metainfo=dict(sample_id=name, **metainfo), gt_fields=BaseDataElement(**fields))
            for name in names])


def test_the_head_takes_its_width_from_the_backbone():
    assert dense().decode_head.in_channels == 64
    assert dense(decode_head=dict(NORMAL, in_channels=64)).decode_head.in_channels == 64
    with pytest.raises(ValueError, match='in_channels=32, but the backbone gives 64 channels: leave in_channels out'):
        dense(decode_head=dict(NORMAL, in_channels=32))


def test_unknown_names_are_offered_near_ones():
    with pytest.raises(ValueError, match="test_cfg: unknown option: 'flip_tset'. Did you mean 'flip_test'"):
        MODELS.build(dict(type='TopdownPoseEstimator', backbone=NANO, decode_head=POSE, test_cfg=dict(flip_tset=True)))
    with pytest.raises(ValueError, match='test_cfg: unknown option'):
        dense(test_cfg=dict(flip_test=True))
    with pytest.raises(ValueError, match="unknown mode: 'los'. Did you mean 'loss'"):
        dense()(torch.zeros(1, 3, 64, 48), mode='los')


@pytest.mark.parametrize('mode', ['loss', 'predict'])
def test_samples_are_needed_for_losses_and_predictions(mode):
    with pytest.raises(ValueError, match=f"mode '{mode}' needs a data sample for each of the 2 images"):
        dense()(torch.zeros(2, 3, 64, 48), mode=mode)


def test_a_training_step_lowers_the_loss():
    model = dense()
    wrapper = OptimWrapper(torch.optim.AdamW(model.parameters(), lr=1e-3), clip_grad=dict(max_norm=2.0))
    logs = [model.train_step(batch(), wrapper) for _ in range(6)]
    assert set(logs[0]) == {'loss', 'loss_l1', 'loss_l1_2'}
    assert logs[0]['loss'] == logs[0]['loss_l1'] + logs[0]['loss_l1_2']
    assert logs[-1]['loss'] < logs[0]['loss']


@pytest.mark.parametrize('step', ['val_step', 'test_step'])
def test_prediction_steps_give_the_source_size(step):
    with torch.no_grad():
        samples = getattr(dense().eval(), step)(batch())
    assert [sample.sample_id for sample in samples] == ['a', 'b']
    assert all(sample.pred_fields.normal.shape == (3, 30, 40) for sample in samples)


def test_the_raw_output_needs_no_samples():
    assert dense()(torch.zeros(2, 3, 64, 48)).shape == (2, 3, 64, 48)


def test_a_model_cast_as_a_whole_predicts():
    model = dense().bfloat16().eval()
    with torch.no_grad():
        fields = model.test_step(batch())[0].pred_fields
    assert fields.normal.dtype == torch.float32 and torch.isfinite(fields.normal).all()


def test_seg_logits_are_an_option():
    head = dict(type='SegHead', deconv_out_channels=(4, 4, 4, 4), num_classes=3)
    for test_cfg in (None, dict(seg_logits=True)):
        model = dense(decode_head=head, test_cfg=test_cfg)
        with torch.no_grad():
            fields = model.test_step(batch())[0].pred_fields
        assert ('seg_logits' in fields) == (test_cfg is not None)


@pytest.mark.parametrize('task, head', [('DenseEstimator', NORMAL), ('TopdownPoseEstimator', POSE)])
def test_estimators_are_built_on_the_meta_device(task, head):
    with torch.device('meta'):
        model = MODELS.build(dict(type=task, backbone=NANO, decode_head=head))
    assert all(parameter.is_meta for parameter in model.parameters())
    assert model(torch.empty(1, 3, 64, 48, device='meta')).is_meta


def pose(flip_test: bool, **kwargs):
    head = MODELS.build(dict(POSE, in_channels=8, **kwargs))
    torch.manual_seed(1)
    head.deconv_layers, head.conv_layers, head.conv_pose = nn.Identity(), nn.Identity(), Mirrorable()
    return MODELS.build(dict(
        type='TopdownPoseEstimator', backbone=PatchMean(), decode_head=head, test_cfg=dict(flip_test=flip_test)))


def test_flip_test_changes_nothing_for_a_network_that_commutes_with_mirroring():
    with torch.no_grad():
        plain, both = (pose(flip_test).test_step(batch()) for flip_test in (False, True))
        model, images = pose(True), torch.rand(2, 3, 64, 48)
        torch.testing.assert_close(model.decode_head.unmirror(model(images.flip(-1))), model(images))
    for one, other in zip(plain, both):
        # Peaks of random maps can be flat ridges, along which rounding moves the Newton step.
        torch.testing.assert_close(one.pred_instances.keypoints, other.pred_instances.keypoints, atol=0.2, rtol=0)
        torch.testing.assert_close(one.pred_instances.keypoint_scores, other.pred_instances.keypoint_scores)


def test_flip_test_swaps_left_and_right():
    """Without the swap the same network gives other scores: the test above would notice."""
    with torch.no_grad():
        plain = pose(False).test_step(batch())
        unswapped = pose(True, metainfo=dict(flip_indices=[0, 1, 2, 3])).test_step(batch())
    scores = [samples[0].pred_instances.keypoint_scores[0] for samples in (plain, unswapped)]
    torch.testing.assert_close(scores[0][[0, 3]], scores[1][[0, 3]])
    assert not torch.allclose(scores[0][[1, 2]], scores[1][[1, 2]])


def test_a_corner_of_the_crop_comes_back_to_its_place():
    model = pose(False)
    maps = torch.zeros(1, 4, 16, 12)
    maps[0, :2, 0, 0] = maps[0, 2:, 15, 11] = 1
    model.decode_head.conv_pose.forward = lambda x: maps
    with torch.no_grad():
        points = model.test_step(batch(('a',)))[0].pred_instances.keypoints[0]
    # Crop of 36 x 48 source pixels about (20, 15); peaks on a border are refined by half a cell outwards.
    cell = torch.tensor([36 / 11, 48 / 15])
    torch.testing.assert_close(points[0], torch.tensor([2.0, -9.0]) - cell / 2, atol=0.02, rtol=0)
    torch.testing.assert_close(points[3], torch.tensor([38.0, 39.0]) + cell / 2, atol=0.02, rtol=0)
