"""MMPose, MMSegmentation, MMPretrain and sapiens2 together; runs in the environment of tools/setup_baselines.sh."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope, init_default_scope

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ('mmpose', 'mmseg', 'mmpretrain')),
    reason='needs MMPose, MMSegmentation and MMPretrain: run it in the environment of tools/setup_baselines.sh')

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / 'projects/openmmlab/configs'
THEIRS_IN_OURS = sorted((CONFIGS / 'theirs_in_ours').glob('*.py'))
HEATMAPS = CONFIGS / 'ours_in_mmpose/sapiens2-tiny_sapiens2-head_synth-128x96.py'
IMAGES = (2, 3, 128, 96)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT))
    scope = DefaultScope.get_current_instance().scope_name if DefaultScope.get_current_instance() else None
    yield
    if scope:
        init_default_scope(scope)


def theirs(path: Path, package: str) -> torch.nn.Module:
    """The model of a config of another package, built as its runner builds it."""
    from importlib import import_module
    cfg = Config.fromfile(path)
    assert cfg.default_scope == package
    init_default_scope(package)
    if 'data_preprocessor' in cfg:
        cfg.model.data_preprocessor = cfg.data_preprocessor
    return import_module(f'{package}.registry').MODELS.build(cfg.model)


def ours(path: Path) -> torch.nn.Module:
    """The model of a config of sapiens2, checked as ``sapiens2 train`` checks it."""
    from sapiens2.registry import MODELS
    from sapiens2.utils.config import load_config
    init_default_scope('sapiens2')
    return MODELS.build(load_config(path).model)


@pytest.mark.parametrize('path', THEIRS_IN_OURS, ids=lambda path: path.stem)
def test_their_networks_learn_in_ours(path: Path) -> None:
    torch.manual_seed(0)
    model = ours(path)
    model.init_weights()
    output = model(torch.randn(IMAGES))
    assert output.shape[1:] == ((308, 32, 24) if 'pose' in path.stem else (29, 128, 96))
    output.square().mean().backward()
    without = [name for name, parameter in model.named_parameters() if parameter.grad is None]
    # SegformerHead replaces the last dropout and layer of its base; FPN makes maps that nobody reads.
    assert all(name.startswith(('backbone.neck.fpn_convs', 'decode_head.head')) for name in without), without


def test_layer_decay_asks_a_backbone_of_theirs() -> None:
    model = ours(CONFIGS / 'theirs_in_ours/vitpose-tiny_pose_synth-128x96.py')
    depth = model.backbone.get_layer_depth
    assert depth('backbone.backbone.patch_embed.projection.weight', 'backbone.')[0] == 0
    assert depth('backbone.backbone.layers.11.ln1.weight', 'backbone.') == (12, 14)
    assert depth('decode_head.conv_pose.weight', 'backbone.')[0] == 13


def test_our_weights_give_the_same_heat_maps_in_mmpose() -> None:
    torch.manual_seed(0)
    mine = ours(CONFIGS / 'sapiens2-tiny_pose_synth-128x96.py').eval()
    their = theirs(HEATMAPS, 'mmpose').eval()
    their.load_state_dict({name.replace('decode_head.', 'head.network.'): value
                           for name, value in mine.state_dict().items()})
    images = torch.randn(IMAGES)
    with torch.no_grad():
        assert torch.equal(mine(images), their(images, None, mode='tensor'))


def test_our_weights_give_the_same_logits_in_mmseg() -> None:
    torch.manual_seed(0)
    mine = ours(CONFIGS / 'sapiens2-tiny_seg_synth-128x96.py').eval()
    their = theirs(CONFIGS / 'ours_in_mmseg/sapiens2-tiny_sapiens2-head_synth-128x96.py', 'mmseg').eval()
    their.load_state_dict({name.replace('decode_head.', 'decode_head.network.'): value
                           for name, value in mine.state_dict().items()})
    images = torch.randn(IMAGES)
    with torch.no_grad():
        assert torch.equal(mine(images), their(images, None, mode='tensor'))


@pytest.mark.parametrize(('file', 'package'), [
    ('ours_in_mmpose/sapiens2-tiny_heatmap-head_synth-128x96.py', 'mmpose'),
    ('ours_in_mmseg/sapiens2-tiny_upernet_synth-128x96.py', 'mmseg')])
def test_our_backbone_needs_no_adapter(file: str, package: str) -> None:
    model = theirs(CONFIGS / file, package).eval()
    with torch.no_grad():
        output = model(torch.zeros(IMAGES), None, mode='tensor')
    assert output.shape[:2] == (2, 308 if package == 'mmpose' else 29)


def test_the_classifier_starts_from_our_checkpoint_and_decays_by_layer(tmp_path: Path) -> None:
    from mmpretrain.engine import LearningRateDecayOptimWrapperConstructor
    from sapiens2.models.backbones import Sapiens2
    path = CONFIGS / 'ours_in_mmpretrain/sapiens2-tiny_people-count_synth-128x96.py'
    pretrained = Sapiens2(arch='sapiens2_tiny', img_size=(128, 96))
    with torch.no_grad():
        for parameter in pretrained.parameters():
            parameter.uniform_(-1, 1)
    file = tmp_path / 'backbone.pth'
    torch.save({f'backbone.{name}': value for name, value in pretrained.state_dict().items()}, file)
    model = theirs(path, 'mmpretrain')
    model.backbone.init_cfg['checkpoint'] = str(file)
    model.init_weights()
    for name, parameter in model.backbone.named_parameters():
        assert torch.equal(parameter, pretrained.state_dict()[name]), name
    wrapper = LearningRateDecayOptimWrapperConstructor(
        dict(optimizer=dict(type='AdamW', lr=1.0, weight_decay=0.1)), dict(layer_decay_rate=0.5))(model)
    rates = {id(group_parameter): group['lr'] for group in wrapper.optimizer.param_groups
             for group_parameter in group['params']}
    assert rates[id(model.backbone.patch_embed.projection.weight)] == 0.5**13
    assert rates[id(model.backbone.blocks[11].attn.wq.weight)] == 0.5
    assert rates[id(model.head.fc.weight)] == 1.0


def test_mmpose_reads_our_table_of_key_points() -> None:
    from mmpose.datasets.datasets.utils import parse_pose_metainfo

    from projects.openmmlab.in_mmpose import mmpose_metainfo
    from sapiens2.datasets.metainfo import load_metainfo
    for name in ('sapiens308', 'coco'):
        table, found = load_metainfo(name), parse_pose_metainfo(mmpose_metainfo(name))
        assert found['flip_indices'] == table['flip_indices']
        assert [found['keypoint_id2name'][i] for i in range(len(table['keypoint_names']))] == table['keypoint_names']
        assert [list(link) for link in found['skeleton_links']] == [list(link) for link in table['skeleton_links']]
        assert set(found['upper_body_ids']) == set(table['upper_body_ids'])
