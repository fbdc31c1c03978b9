"""Parts of another package inside sapiens2, shown with a small package made here; needs none of OpenMMLab's."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mmengine.structures import BaseDataElement

from sapiens2.registry import MODELS, register_all
from sapiens2.structures import DataSample

ROOT = Path(__file__).parents[2]
REGISTRY = '''
from mmengine.registry import MODELS as ROOT, Registry
from torch import nn
MODELS = Registry('model', parent=ROOT, scope='{name}')

@MODELS.register_module()
class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.BatchNorm2d(8))
        self.two = nn.Conv2d(8, 12, 2, stride=2)
    def forward(self, x):
        one = self.one(x)
        return [one, self.two(one)]

@MODELS.register_module()
class FirstOnly(nn.Module):
    def forward(self, maps):
        return maps[0]

@MODELS.register_module()
class Vector(nn.Module):
    def forward(self, x):
        return (x.mean((2, 3)),)

@MODELS.register_module()
class CrossEntropyLoss(nn.Module):
    def __init__(self, use_sigmoid):
        super().__init__()

@MODELS.register_module()
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = MODELS.build(dict(type='CrossEntropyLoss', use_sigmoid=False))
        self.conv = nn.Conv2d(8, 29, 1)
    def forward(self, maps):
        return self.conv(maps[0])
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of a package with a registry of its own, as OpenMMLab's are made."""
    from mmengine.registry import MODELS as root
    name = 'theirs'
    (tmp_path / name).mkdir()
    (tmp_path / name / '__init__.py').touch()
    (tmp_path / name / 'registry.py').write_text(REGISTRY.format(name=name), encoding='utf-8')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(ROOT))
    register_all()
    yield name
    root.children.pop(name, None)
    for module in (name, f'{name}.registry'):
        sys.modules.pop(module, None)


def backbone(package: str, **options: object) -> torch.nn.Module:
    from projects.openmmlab import OpenMMLabBackbone
    return OpenMMLabBackbone(dict(type=f'{package}.Stages'), img_size=(32, 24), **options)


def test_widths_and_strides_are_read_off_the_maps(package: str) -> None:
    both = backbone(package)
    assert (both.embed_dims, both.strides) == (12, (4, 8))
    first = backbone(package, index=0)
    assert (first.embed_dims, first.strides) == (8, (4,))
    assert [tuple(features.shape) for features in first(torch.zeros(2, 3, 64, 48))] == [(2, 8, 16, 12)]
    assert backbone(package, neck=dict(type=f'{package}.FirstOnly')).embed_dims == 8


def test_reading_them_leaves_no_trace(package: str) -> None:
    made = backbone(package)
    assert made.training and made.backbone.one[1].training and int(made.backbone.one[1].num_batches_tracked) == 0
    with torch.device('meta'):
        assert backbone(package).embed_dims == 12


def test_depths_of_a_backbone_that_does_not_tell_them(package: str) -> None:
    made = backbone(package)
    depths = {name: made.get_layer_depth(name, 'backbone.')
              for name in ('backbone.backbone.two.weight', 'backbone.neck.conv.weight', 'decode_head.conv.weight')}
    assert list(depths.values()) == [(0, 2), (1, 2), (1, 2)]


def test_what_cannot_be_used_is_refused_with_the_remedy(package: str) -> None:
    from projects.openmmlab import OpenMMLabBackbone
    with pytest.raises(ValueError, match='mmpose.HRNet'):
        OpenMMLabBackbone(dict(type='HRNet'), img_size=(32, 24))
    with pytest.raises(ImportError, match='no_such_package.*setup_baselines.sh'):
        OpenMMLabBackbone(dict(type='no_such_package.HRNet'), img_size=(32, 24))
    with pytest.raises(ValueError, match='out_type'):
        OpenMMLabBackbone(dict(type=f'{package}.Vector'), img_size=(32, 24))


def test_their_head_trains_with_our_loss_and_is_measured_as_ours(package: str) -> None:
    torch.manual_seed(0)
    model = MODELS.build(dict(
        type='DenseEstimator',
        backbone=dict(type='OpenMMLabBackbone', backbone=dict(type=f'{package}.Stages'), img_size=(32, 24)),
        decode_head=dict(
            type='OpenMMLabSegHead', head=dict(type=f'{package}.Head'),
            loss_decode=dict(type='CrossEntropyLoss', class_weight=[1.0] * 29))))
    # Inside the foreign head names are the package's own, in the loss of the estimator those of sapiens2.
    assert type(model.decode_head.head.loss).__module__ == f'{package}.registry'
    assert type(model.decode_head.loss_decode[0]).__module__.startswith('sapiens2.')
    sample = DataSample(metainfo=dict(ori_shape=(64, 48)))
    sample.gt_fields = BaseDataElement(sem_seg=torch.randint(0, 29, (32, 24)))
    images = torch.randn(1, 3, 32, 24)
    losses = model(images, [sample], mode='loss')
    losses['loss_ce'].backward()
    assert model.backbone.backbone.one[0].weight.grad.abs().sum() > 0
    found, = model.eval()(images, [sample], mode='predict')
    assert found.pred_fields.sem_seg.shape == (64, 48)


def test_our_decoder_reads_their_map(package: str) -> None:
    model = MODELS.build(dict(
        type='TopdownPoseEstimator',
        backbone=dict(type='OpenMMLabBackbone', backbone=dict(type=f'{package}.Stages'), img_size=(32, 24), index=0),
        decode_head=dict(type='PoseHeatmapHead', deconv_out_channels=(), deconv_kernel_sizes=(), conv_out_channels=(),
                         conv_kernel_sizes=())))
    assert model(torch.zeros(1, 3, 32, 24)).shape == (1, 308, 8, 6)


def test_people_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from projects.openmmlab.people_count import labelled
    file = tmp_path / 'keypoints.json'
    file.write_text(json.dumps({
        'images': [{'id': 7, 'file_name': 'a.jpg'}, {'id': 8, 'file_name': 'b.jpg'}, {'id': 9, 'file_name': 'c.jpg'}],
        'annotations': [{'image_id': 7}, {'image_id': 9}, {'image_id': 9}]}), encoding='utf-8')
    assert labelled(file) == ['a.jpg 0', 'c.jpg 1']


def test_the_table_has_mean_and_spread_and_leaves_out_what_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from projects.openmmlab.compare import FIGURES, ROWS, markdown
    args = Namespace(iterations=1000, batch=8, held_out=0)
    entry = dict(name='A', task='seg', parameters=3_720_000, multiply_adds=323_000_000, command='sapiens2 train A')
    keys = FIGURES['seg']
    text = markdown(args, [
        {**entry, 'seeds': [0, 1], 'minutes': [1.5, 2.0], 'figures': dict.fromkeys(keys, [10.0, 12.0])},
        {**entry, 'name': 'B', 'seeds': [], 'minutes': [], 'figures': dict.fromkeys(keys, [])}],
        {'seg': dict.fromkeys(keys, 2.2)})
    assert '| A | 3.72 M | 0.323 G |' + ' 11.00 ± 1.41 |' * len(keys) + ' 0, 1 | 1.5, 2.0 |' in text
    assert '| B | 3.72 M | 0.323 G |' + ' - |' * len(keys) in text and 'pose' not in text
    assert '| - | - |' + ' 2.20 |' * len(keys) in text
    assert all((ROOT / row.config).is_file() for row in ROWS)
