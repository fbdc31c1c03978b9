"""Head and losses of mattes, and weights of transformers in the network."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from mmengine.structures import BaseDataElement
from torch import nn

from sapiens2.models.checkpoints import build_model
from sapiens2.structures import DataSample

IMAGE = (64, 48)
ARCH = dict(embed_dims=64, num_layers=17, num_heads=4, feedforward_channels=128, num_tokenizer_layers=1)
TRUNK = dict(conv_kernel_sizes=[3, 3], conv_out_channels=[8, 4])
UPSAMPLE = [24, 16, 8, 8]


def head(**options) -> nn.Module:
    from projects.matting import MattingHead
    torch.manual_seed(0)
    return MattingHead(in_channels=8, upsample_channels=(4, 4), conv_out_channels=(4,), conv_kernel_sizes=(3,),
                       **options)


def test_predictions_are_in_range_at_the_size_of_the_picture() -> None:
    matting = head()
    samples = [DataSample(metainfo=dict(ori_shape=(50, 31), padding=(2, 2, 0, 0))) for _ in range(2)]
    raw = 20 * torch.randn(2, 4, 24, 20)
    for sample in matting.predictions(raw, samples):
        alpha, foreground = sample.pred_fields.alpha, sample.pred_fields.foreground
        assert alpha.shape == (1, 50, 31) and foreground.shape == (3, 50, 31)
        assert alpha.min() >= 0 and alpha.max() <= 1 and foreground.min() >= 0 and foreground.max() <= 1
    same_size = [DataSample(metainfo=dict(ori_shape=(24, 20)))]
    matting.predictions(raw[:1], same_size)
    torch.testing.assert_close(same_size[0].pred_fields.alpha, raw[0, 3:].sigmoid())
    torch.testing.assert_close(same_size[0].pred_fields.foreground, raw[0, :3].sigmoid())


def test_the_head_learns_alpha_and_foreground() -> None:
    from projects.matting import ForegroundL1Loss, LaplacianPyramidLoss
    from sapiens2.models.losses.regression import L1Loss
    matting = head(loss_decode=[L1Loss(), LaplacianPyramidLoss(levels=2), ForegroundL1Loss()])
    alpha = (torch.rand(1, 24, 20) > 0.5).float()
    samples = [DataSample(gt_fields=BaseDataElement(alpha=alpha, foreground=torch.rand(3, 24, 20)))]
    losses = matting.loss([torch.randn(1, 8, 6, 5)], samples)
    assert set(losses) == {'loss_l1', 'loss_laplacian', 'loss_foreground'}
    sum(losses.values()).backward()
    weight = matting.conv_matting.weight.grad
    assert (weight[:, :, 0, 0].abs().sum(1) > 0).all(), 'all four outputs must learn'


def test_the_laplacian_loss_sees_details_and_no_levels() -> None:
    from projects.matting import LaplacianPyramidLoss
    loss, target = LaplacianPyramidLoss(levels=3), torch.rand(2, 1, 32, 24, dtype=torch.float64)
    assert loss(target + 0.25, target) < 1e-12
    edge = target.clone()
    edge[..., :12] += 0.25
    assert loss(edge, target) > 1e-3
    tiled = [torch.cat([maps, maps.flip(-1)], -1) for maps in (edge, target)]
    assert 0.7 < loss(*tiled) / loss(edge, target) < 1.3, 'a larger picture of the same kind has no larger loss'
    with pytest.raises(ValueError, match='set fewer levels'):
        LaplacianPyramidLoss(levels=6)(edge, target)


def test_gradients_of_the_losses() -> None:
    from projects.matting import ForegroundL1Loss, LaplacianPyramidLoss
    torch.manual_seed(0)
    pred, target = torch.rand(1, 1, 12, 10, dtype=torch.float64), torch.rand(1, 1, 12, 10, dtype=torch.float64)
    laplacian = LaplacianPyramidLoss(levels=2)
    assert torch.autograd.gradcheck(lambda value: laplacian(value, target), pred.requires_grad_())
    colours, truth = (torch.rand(1, 3, 12, 10, dtype=torch.float64) for _ in range(2))
    assert torch.autograd.gradcheck(lambda value: ForegroundL1Loss()(value, truth, target), colours.requires_grad_())


def test_colours_count_where_the_person_is_seen() -> None:
    from projects.matting import ForegroundL1Loss
    pred, truth, alpha = torch.zeros(1, 3, 2, 2), torch.ones(1, 3, 2, 2), torch.tensor([[[[0, 0.1], [1, 0]]]])
    truth[..., 0, 0] = float('nan')
    assert ForegroundL1Loss()(pred, truth, alpha) == pytest.approx(3)
    assert ForegroundL1Loss()(pred, truth, alpha * 0) == 0
    with pytest.raises(ValueError, match="sample 'anna.jpg' has 3 values that are not finite"):
        ForegroundL1Loss()(pred, truth, alpha + 1, ['anna.jpg'])


def test_weights_of_transformers_give_its_mattes(tmp_path: Path) -> None:
    transformers = pytest.importorskip('transformers', minversion='5.24')
    import projects.matting  # noqa: F401
    torch.manual_seed(0)
    theirs = transformers.Sapiens2ForImageMatting(transformers.Sapiens2Config(
        hidden_size=64, intermediate_size=128, num_hidden_layers=17, num_attention_heads=4,
        num_key_value_attention_heads=2, image_size=list(IMAGE), num_labels=4,
        head_config=dict(**TRUNK, upsample_out_channels=UPSAMPLE, upsample_kernel_sizes=[3] * 4,
                         use_pixel_shuffle=True)))
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.1)
    theirs.eval().save_pretrained(tmp_path)
    ours = build_model(
        dict(type='DenseEstimator', backbone=dict(type='Sapiens2', arch=ARCH, img_size=IMAGE, rope_dtype='fp32'),
             decode_head=dict(type='MattingHead', **TRUNK, upsample_channels=UPSAMPLE)), tmp_path, device='cpu').eval()
    images = torch.randn(2, 3, *IMAGE, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected, maps = theirs(images), ours(images).sigmoid()
    for name, got in (('alphas', maps[:, 3:]), ('foregrounds', maps[:, :3])):
        assert expected[name].std() > 1e-2, 'the comparison must be of numbers that differ from one another'
        torch.testing.assert_close(got, expected[name], rtol=0, atol=1e-5)
