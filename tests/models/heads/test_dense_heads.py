"""The dense heads: losses, targets, and predictions in the frame of the source image."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from mmengine.structures import BaseDataElement
from torch import nn

from sapiens2.models.heads.base_head import BaseHead
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample

TRUNK = dict(in_channels=8, upsample_channels=(4, 4), conv_out_channels=(4,), conv_kernel_sizes=(3,))
CFGS = {
    'seg': dict(type='SegHead', in_channels=8, deconv_out_channels=(4, 4), deconv_kernel_sizes=(4, 4),
                conv_out_channels=(4,), conv_kernel_sizes=(1,), num_classes=5),
    'normal': dict(type='NormalHead', **TRUNK),
    'albedo': dict(type='AlbedoHead', **TRUNK),
    'pointmap': dict(type='PointmapHead', scale_conv_out_channels=(4, 4), scale_conv_kernel_sizes=(1, 1),
                     scale_final_layer=(4 * 2 * 2, 3, 1), canonical_focal_length=100.0, **TRUNK),
}
FEATURES, SIZE = (8, 6, 5), (24, 20)


class Recorder(nn.Module):
    """A loss that keeps what it is given."""

    def __init__(self, *inputs: str, name: str = 'loss_record') -> None:
        super().__init__()
        self.inputs, self.loss_name = inputs, name

    def forward(self, **given):
        self.given = given
        self.autocast = torch.is_autocast_enabled('cpu')
        return sum(value.float().mean() for value in given.values() if isinstance(value, torch.Tensor))


def build(task: str, *losses: nn.Module, **kwargs) -> BaseHead:
    torch.manual_seed(0)
    return MODELS.build({**CFGS[task], 'loss_decode': list(losses), **kwargs})


def feats(batch: int = 2) -> tuple[torch.Tensor, ...]:
    return (torch.randn(batch, *FEATURES, generator=torch.Generator().manual_seed(1)),)


def sample(name: str = 'a.jpg', **metainfo) -> DataSample:
    fields = dict(
        sem_seg=torch.ones(SIZE, dtype=torch.int64),
        normal=torch.ones(3, *SIZE),
        albedo=torch.ones(3, *SIZE),
        pointmap=torch.full((3, *SIZE), 2.0),
        scale=torch.tensor([0.5]),
        mask=torch.ones(1, *SIZE, dtype=torch.bool))
    return DataSample(
        metainfo=dict(sample_id=name, ori_shape=SIZE, **metainfo), gt_fields=BaseDataElement(**fields))


class Fixed(nn.Module):
    """Stands in for a head's last layer: gives maps of its own."""

    def __init__(self, maps: torch.Tensor) -> None:
        super().__init__()
        self.maps = maps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.maps


def predict(task: str, maps: torch.Tensor, *samples: DataSample, **options) -> list[BaseDataElement]:
    head = build(task)
    setattr(head, f'conv_{task}', Fixed(maps))
    return [done.pred_fields for done in head.predict(feats(len(samples)), samples, **options)]


@pytest.mark.parametrize('task', CFGS)
def test_losses_get_float32_targets_outside_autocast(task):
    inputs = ('pred', 'target', 'names') if task == 'seg' else ('pred', 'target', 'mask', 'names')
    loss = Recorder(*inputs)
    with torch.autocast('cpu', dtype=torch.bfloat16):
        losses = build(task, loss).loss(feats(), [sample('a.jpg'), sample('b.jpg')])
    losses['loss_record'].backward()
    assert not loss.autocast and loss.given['names'] == ['a.jpg', 'b.jpg']
    assert loss.given['pred'].dtype == torch.float32
    assert loss.given['pred'].shape == (2, 5 if task == 'seg' else 3, *SIZE)
    if task == 'seg':
        assert loss.given['target'].dtype == torch.int64 and loss.given['target'].shape == (2, *SIZE)
    else:
        assert loss.given['target'].dtype == torch.float32 and loss.given['target'].shape == (2, 3, *SIZE)
        assert loss.given['mask'].dtype == torch.bool and loss.given['mask'].shape == (2, 1, *SIZE)


def test_losses_of_one_name_have_keys_of_their_own():
    losses = build('normal', *(Recorder('pred') for _ in range(3)), Recorder('pred', name='loss_x')).loss(
        feats(), [sample(), sample()])
    assert list(losses) == ['loss_record', 'loss_record_2', 'loss_record_3', 'loss_x']


def test_losses_add_nothing_to_the_state():
    plain = MODELS.build(CFGS['normal']).state_dict()
    assert build('normal', Recorder('pred')).state_dict().keys() == plain.keys()


def test_a_missing_target_names_sample_field_and_remedy():
    broken = sample('b.jpg')
    del broken.gt_fields.normal
    with pytest.raises(ValueError, match=r"b.jpg: gt_fields has no 'normal', which NormalHead trains on: load it"):
        build('normal', Recorder('target')).loss(feats(), [sample(), broken])
    with pytest.raises(ValueError, match="c.jpg: gt_fields has no 'mask'"):
        build('normal', Recorder('mask')).loss(feats(1), [DataSample(metainfo=dict(sample_id='c.jpg'))])
    assert build('normal', Recorder('mask')).loss(feats(1), [broken]), 'only what a loss asks for is needed'


def test_a_target_of_another_size_is_named():
    broken = sample('b.jpg')
    broken.gt_fields.sem_seg = torch.ones(12, 10, dtype=torch.int64)
    with pytest.raises(ValueError, match=r'b.jpg: gt_fields.sem_seg has shape \(12, 10\), SegHead gives \(24, 20\)'):
        build('seg', Recorder('target')).loss(feats(), [sample(), broken])


def test_a_loss_that_asks_for_what_a_head_lacks_is_named():
    with pytest.raises(ValueError, match="Recorder cannot train SegHead: unknown loss input: 'mask'"):
        build('seg', Recorder('mask')).loss(feats(1), [sample()])
    with pytest.raises(ValueError, match='NormalHead has no loss: set loss_decode'):
        build('normal').loss(feats(1), [sample()])


@pytest.mark.parametrize('features', [torch.rand(2, 9, 6, 5), torch.rand(2, 8, 30)])
def test_wrong_features_are_named(features):
    with pytest.raises(ValueError, match=r"takes features \(B, 8, h, w\), got.*out_type to 'featmap'"):
        build('seg')([features])


def test_the_last_feature_map_is_decoded():
    head, maps = build('normal'), feats()
    assert torch.equal(head((torch.rand(2, 3, 1, 1), *maps)), head(maps))


def test_initial_values():
    head = MODELS.build(dict(CFGS['albedo'], in_channels=64))
    head.init_weights()
    assert head.input_conv[0].weight.detach().std() == pytest.approx(0.02, rel=0.05)
    assert not any(p.detach().any() for name, p in head.named_parameters() if name.endswith('bias'))
    assert torch.equal(head.input_conv[1].norm.weight, torch.ones(64))


# Predictions


@pytest.mark.parametrize('padding', [(0, 0, 0, 0), (3, 4, 0, 0), (0, 0, 5, 6), (1, 0, 2, 7)])
def test_a_prediction_is_cut_out_of_uneven_padding(padding):
    """What lies in the padding must not leak into the result, even at the border."""
    left, right, top, bottom = padding
    inner = torch.rand(3, SIZE[0] - top - bottom, SIZE[1] - left - right)
    maps = F.pad(inner, padding, value=99.0)[None]
    fields, = predict('albedo', maps, sample(padding=padding))
    expected = F.interpolate(inner[None], size=SIZE, mode='bilinear', align_corners=False)[0]
    torch.testing.assert_close(fields.albedo, expected)


def test_samples_of_a_batch_have_their_own_padding_and_size():
    samples = [sample(padding=(0, 0, 0, 0)), sample(padding=(2, 3, 0, 0))]
    samples[1].set_metainfo(dict(ori_shape=(240, 150)))
    first, second = predict('albedo', torch.rand(2, 3, *SIZE), *samples)
    assert first.albedo.shape == (3, *SIZE) and second.albedo.shape == (3, 240, 150)


@pytest.mark.parametrize('padding', [(10, 10, 0, 0), (0, 0, -1, 0)])
def test_padding_that_leaves_nothing_is_named(padding):
    with pytest.raises(ValueError, match='a.jpg: padding'):
        predict('albedo', torch.rand(1, 3, *SIZE), sample(padding=padding))


def test_a_sample_without_source_size_is_named():
    with pytest.raises(ValueError, match="x.jpg: metainfo has no 'ori_shape'.*load the image"):
        predict('albedo', torch.rand(1, 3, *SIZE), DataSample(metainfo=dict(img_path='x.jpg')))


@pytest.mark.parametrize('size', [(1, 1), (7, 200), SIZE, (61, 33)])
def test_normals_have_unit_length(size):
    one = sample()
    one.set_metainfo(dict(ori_shape=size))
    fields, = predict('normal', 5 * torch.randn(1, 3, *SIZE), one)
    assert fields.normal.shape == (3, *size)
    torch.testing.assert_close(fields.normal.norm(dim=0), torch.ones(size))


def test_the_length_of_a_raw_normal_does_not_weigh_in_the_resizing():
    maps = torch.zeros(1, 3, *SIZE)
    maps[:, 0, :, :10], maps[:, 1, :, 10:] = 100.0, 0.01
    one = sample()
    one.set_metainfo(dict(ori_shape=(24, 40)))
    fields, = predict('normal', maps, one)
    middle = fields.normal[:, 12, 19:21]
    torch.testing.assert_close(middle[0], middle[1].flip(0))


def test_albedo_is_clamped():
    fields, = predict('albedo', torch.linspace(-1, 2, 3 * 24 * 20).view(1, 3, *SIZE), sample())
    assert fields.albedo.min() == 0 and fields.albedo.max() == 1


def test_labels_come_with_logits_only_on_request():
    logits, one = torch.randn(1, 5, *SIZE), sample()
    one.set_metainfo(dict(ori_shape=(50, 70)))
    fields, = predict('seg', logits, one)
    assert set(fields.keys()) == {'sem_seg'} and fields.sem_seg.dtype == torch.int64
    full, = predict('seg', logits, one, seg_logits=True)
    assert full.seg_logits.shape == (5, 50, 70)
    assert torch.equal(full.sem_seg, fields.sem_seg)
    assert torch.equal(full.seg_logits.argmax(0), full.sem_seg)


# Point maps


def test_canonical_and_metric_point_maps_go_together():
    """A network that gives the training target predicts the metric ground truth."""
    loss = Recorder('target', 'target_scale', 'scale')
    one = sample()
    one.gt_fields.pointmap = torch.rand(3, *SIZE) + 1
    build('pointmap', loss).loss(feats(1), [one])
    torch.testing.assert_close(loss.given['target'][0], one.gt_fields.pointmap * 0.5)
    assert loss.given['target_scale'].tolist() == [[0.5]] and loss.given['scale'].shape == (1, 1)

    head = build('pointmap')
    head.conv_pointmap, head.scale_final_layer[-1] = Fixed(loss.given['target']), Fixed(loss.given['target_scale'])
    fields = head.predict(feats(1), [one])[0].pred_fields
    torch.testing.assert_close(fields.pointmap, one.gt_fields.pointmap)
    assert torch.equal(fields.depth, fields.pointmap[2:]) and fields.scale.tolist() == [0.5]


def test_intrinsics_rule_over_the_stored_scale():
    loss = Recorder('target', 'target_scale', 'K')
    samples = [sample('a'), sample('b')]
    for one, focal in zip(samples, (50.0, 400.0)):
        one.gt_fields.K = torch.tensor([[focal, 0, 10], [0, focal, 12], [0, 0, 1]])
    build('pointmap', loss).loss(feats(), samples)
    assert loss.given['target_scale'].tolist() == [[2.0], [0.25]]
    assert loss.given['K'].shape == (2, 3, 3)
    torch.testing.assert_close(loss.given['target'][:, 0, 0, 0], torch.tensor([4.0, 0.5]))


def test_canonical_points_project_through_the_same_intrinsics():
    loss = Recorder('target', 'K')
    one = sample()
    k = torch.tensor([[50.0, 0, 10], [0, 50, 12], [0, 0, 1]])
    v, u = torch.meshgrid(torch.arange(24.0), torch.arange(20.0), indexing='ij')
    depth = torch.rand(SIZE) + 1
    one.gt_fields.pointmap = torch.stack(((u - 10) / 50 * depth, (v - 12) / 50 * depth, depth))
    one.gt_fields.K = k
    build('pointmap', loss).loss(feats(1), [one])
    projected = torch.einsum('ij,jhw->ihw', loss.given['K'][0], loss.given['target'][0])
    torch.testing.assert_close(projected[:2] / projected[2:], torch.stack((u, v)), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize('scale', [0.0, -0.3])
def test_a_scale_of_an_untrained_network_gives_finite_points(scale):
    head = build('pointmap')
    head.scale_final_layer[-1] = Fixed(torch.tensor([[scale]]))
    fields = head.predict(feats(1), [sample()])[0].pred_fields
    assert torch.isfinite(fields.pointmap).all()


def test_another_image_size_names_the_scale_branch():
    with pytest.raises(ValueError, match=r'\(8, 9\) into 4 x 2 x 3 values, and scale_final_layer takes 16.*24'):
        build('pointmap')([torch.rand(1, 8, 8, 9)])
    with pytest.raises(ValueError, match='into one cell.*shorten scale_conv_out_channels'):
        build('pointmap', scale_final_layer=(4, 1))([torch.rand(1, 8, 4, 4)])
    with pytest.raises(ValueError, match='must end in 1'):
        build('pointmap', scale_final_layer=(16, 2))
