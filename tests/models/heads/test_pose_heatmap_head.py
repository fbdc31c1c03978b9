"""The pose head: losses, and key points in the frame of the source image."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from mmengine.structures import BaseDataElement, InstanceData
from torch import nn

from sapiens2.registry import CODECS, MODELS
from sapiens2.structures import DataSample
from sapiens2.utils.topdown import apply_affine, udp_matrix

CODEC = dict(type='UDPHeatmap', input_size=(192, 256), heatmap_size=(48, 64), sigma=2)
CFG = dict(type='PoseHeatmapHead', in_channels=8, out_channels=4, deconv_out_channels=(4, 4),
           deconv_kernel_sizes=(4, 4), conv_out_channels=(4,), conv_kernel_sizes=(1,),
           metainfo=dict(flip_indices=[0, 2, 1, 3]))
CENTER, SCALE = np.array([150.0, 220.0]), np.array([240.0, 320.0])
POINTS = np.array([[100.0, 130], [170, 300], [130, 250], [160, 111]])


class Given(nn.Module):
    """A loss that keeps what it is given."""

    inputs, loss_name = ('pred', 'target', 'weights', 'names'), 'loss_kpt'

    def forward(self, **given):
        self.given = given
        return given['pred'].mean()


def drawn() -> torch.Tensor:
    """Heat maps (1, 4, 64, 48) of POINTS."""
    crop = apply_affine(POINTS, udp_matrix(CENTER, SCALE, (192, 256)))
    return torch.from_numpy(CODECS.build(CODEC).encode(crop[None], np.ones((1, 4)))['heatmaps'])[None]


def sample(**metainfo) -> DataSample:
    return DataSample(metainfo=dict(sample_id='p.jpg', input_center=CENTER, input_scale=SCALE, **metainfo))


def head_that_gives(monkeypatch, maps, **kwargs):
    """A head whose heat maps are the features themselves."""
    head = MODELS.build({**CFG, **kwargs})
    monkeypatch.setattr(type(head), 'forward', lambda self, feats: feats[-1])
    return head


def test_losses_get_heatmaps_and_weights():
    loss = Given()
    head = MODELS.build(dict(CFG, loss_decode=loss))
    samples = [sample() for _ in range(2)]
    for one in samples:
        one.gt_fields = BaseDataElement(heatmaps=torch.rand(4, 24, 20), keypoint_weights=torch.tensor([1.0, 0, 1, 1]))
    losses = head.loss([torch.rand(2, 8, 6, 5)], samples)
    losses['loss_kpt'].backward()
    assert loss.given['pred'].shape == loss.given['target'].shape == (2, 4, 24, 20)
    assert loss.given['weights'].tolist() == [[1, 0, 1, 1]] * 2
    samples[1].gt_fields.heatmaps = torch.rand(5, 24, 20)
    with pytest.raises(ValueError, match=r'p.jpg: gt_fields.heatmaps has shape \(5, 24, 20\)'):
        head.loss([torch.rand(2, 8, 6, 5)], samples)


@pytest.mark.parametrize('codec', [CODEC, None])
def test_key_points_come_back_to_the_source_image(monkeypatch, codec):
    head = head_that_gives(monkeypatch, drawn(), codec=codec)
    boxed = sample()
    boxed.gt_instances = InstanceData(bboxes=torch.tensor([[1.0, 2, 3, 4]]), bbox_scores=torch.tensor([0.7]))
    maps = drawn()
    done = head.predict([torch.cat((maps, 0.5 * maps))], [boxed, sample()])
    first, second = (one.pred_instances for one in done)
    assert first.keypoints.shape == (1, 4, 2) and first.keypoint_scores.shape == (1, 4)
    assert np.abs(first.keypoints[0].numpy() - POINTS).max() < 0.1 * SCALE[0] / 47
    torch.testing.assert_close(second.keypoint_scores, first.keypoint_scores / 2)
    assert first.bbox_scores.item() == pytest.approx(0.7) and 'bboxes' not in second


def test_mirrored_maps_are_turned_back_and_swapped(monkeypatch):
    head = head_that_gives(monkeypatch, None, codec=CODEC)
    maps = drawn()
    mirrored = maps.flip(-1)[:, [0, 2, 1, 3]]
    torch.testing.assert_close(head.unmirror(mirrored), maps)


def test_the_308_key_points_know_their_mirror_images():
    with torch.device('meta'):
        head = MODELS.build(dict(type='PoseHeatmapHead', in_channels=8))
    assert len(head.flip_indices) == 308
    assert [head.flip_indices[i] for i in head.flip_indices] == list(range(308))


def test_bad_input_is_named(monkeypatch):
    with pytest.raises(ValueError, match=r"out_channels of PoseHeatmapHead is 4, but its metainfo 'coco' is of 17"):
        MODELS.build(dict(CFG, metainfo='coco'))
    head = head_that_gives(monkeypatch, None, metainfo=None)
    with pytest.raises(ValueError, match='set metainfo of PoseHeatmapHead, or turn off flip_test'):
        head.unmirror(drawn())
    with pytest.raises(ValueError, match="q.jpg: metainfo has no 'input_center'.*TopdownAffine"):
        head.predict([drawn()], [DataSample(metainfo=dict(sample_id='q.jpg'))])
