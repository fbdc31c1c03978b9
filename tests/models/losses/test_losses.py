"""Losses: masks, numbers that are not finite, gradients. Their values are checked in test_golden.py."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from sapiens2.models.losses import (AlbedoChromaticityL1Loss, CrossEntropyLoss, DiceLoss, GradientMSELoss,
                                    KeypointMSELoss, KeypointOHKMMSELoss, L1Loss, MultiscaleL1Loss,
                                    NormalCosineSimilarityLoss, PointmapIntrinsicsConsistencyLoss, PointmapNormalLoss,
                                    PointmapScaleL1Loss, PointmapShiftInvariantL1Loss, SiLogLoss)

MASKED = [L1Loss, MultiscaleL1Loss, GradientMSELoss, NormalCosineSimilarityLoss, AlbedoChromaticityL1Loss,
          PointmapShiftInvariantL1Loss, PointmapNormalLoss, SiLogLoss]
K = torch.tensor([[[20.0, 0, 5], [0, 22, 7], [0, 0, 1]]]).repeat(2, 1, 1)


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.rand(2, 1, 6, 5) > 0.3
    return (torch.rand(2, 3, 6, 5) + 0.1).requires_grad_(), torch.rand(2, 3, 6, 5) + 0.1, mask


def value_and_grad(loss, pred, *args):
    value = loss(pred, *args)
    return value, torch.autograd.grad(value.sum(), pred)[0]


@pytest.mark.parametrize('loss', MASKED)
@pytest.mark.parametrize('bad', [float('nan'), float('inf')])
def test_what_is_not_finite_outside_the_mask_does_no_harm(loss, bad):
    pred, target, mask = inputs()
    value, grad = value_and_grad(loss(), pred, torch.where(mask, target, bad), mask)
    assert value.isfinite() and grad.isfinite().all() and grad.abs().sum() > 0


@pytest.mark.parametrize('loss', MASKED)
def test_what_is_not_finite_inside_the_mask_names_the_sample(loss):
    pred, target, mask = inputs()
    mask[1, 0, 2, 2] = True
    target[1, :, 2, 2] = float('nan')
    with pytest.raises(ValueError, match="sample 'b.png' has 3 values that are not finite"):
        loss()(pred, target, mask, ['a.png', 'b.png'])
    with pytest.raises(ValueError, match='sample 1 of the batch'):
        loss()(pred, target, mask)


@pytest.mark.parametrize('loss', MASKED)
def test_empty_mask_gives_zero_with_gradient_zero(loss):
    pred, target, mask = inputs()
    value, grad = value_and_grad(loss(), pred, torch.full_like(target, float('nan')), torch.zeros_like(mask))
    assert value == 0 and (grad == 0).all()


@pytest.mark.parametrize('loss', MASKED)
def test_perfect_prediction_has_a_finite_gradient(loss):
    _, target, mask = inputs()
    value, grad = value_and_grad(loss(), target.clone().requires_grad_(), target, mask)
    assert value.item() == pytest.approx(0, abs=2e-6) and grad.isfinite().all()


@pytest.mark.parametrize('loss', MASKED)
def test_bf16_is_computed_in_float32(loss):
    pred, target, mask = inputs()
    rounded = pred.detach().bfloat16()
    assert loss()(rounded, target, mask) == loss()(rounded.float(), target, mask)


@pytest.mark.parametrize('loss', MASKED)
def test_weight_multiplies(loss):
    pred, target, mask = inputs()
    torch.testing.assert_close(loss(loss_weight=3.0)(pred, target, mask), 3 * loss()(pred, target, mask))


@pytest.mark.parametrize('loss', MASKED)
def test_gradients_in_float64(loss):
    pred, target, mask = inputs()
    assert gradcheck(lambda x: loss()(x, target.double(), mask), pred.detach().double().requires_grad_())


def test_gradients_in_float64_of_the_other_losses():
    torch.manual_seed(0)
    pred, _, mask = inputs()
    pred = pred.detach().double().requires_grad_()
    assert gradcheck(lambda x: PointmapIntrinsicsConsistencyLoss()(x, K, mask), pred)
    scale = torch.rand(2, 1, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: PointmapScaleL1Loss()(x, torch.ones(2, 1)), scale)
    maps = torch.rand(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([[1.0, 0, 1], [0, 0, 2]])
    for loss in (KeypointMSELoss(), KeypointOHKMMSELoss(topk=2)):
        assert gradcheck(lambda x: loss(x, torch.zeros(2, 3, 4, 4), weights), maps)
    labels = torch.randint(0, 3, (2, 4, 4))
    labels[0, 0] = 255
    for loss in (CrossEntropyLoss(class_weight=[1.0, 2.0, 3.0], reduction='none'), DiceLoss(include_background=True)):
        assert gradcheck(lambda x: loss(x, labels), maps)


@pytest.mark.parametrize('loss', MASKED)
def test_mask_without_batch_dimension_is_for_all_samples(loss):
    pred, target, mask = inputs()
    expected = loss()(pred, target, mask[:1].expand(2, -1, -1, -1))
    for one in (mask[:1], mask[0], mask[0, 0]):
        torch.testing.assert_close(loss()(pred, target, one), expected)


@pytest.mark.parametrize('loss', MASKED)
def test_one_sample_without_masked_pixels_and_no_sample_at_all(loss):
    pred, target, mask = inputs()
    mask[1] = False
    value, grad = value_and_grad(loss(), pred, target, mask)
    assert value > 0 and (grad[1] == 0).all()
    torch.testing.assert_close(value, loss()(pred[:1], target[:1], mask[:1]))
    value, grad = value_and_grad(loss(), pred[:0].detach().requires_grad_(), target[:0], mask[:0])
    assert value == 0 and grad.shape == (0, 3, 6, 5)


@pytest.mark.parametrize('loss', MASKED)
def test_shapes_must_agree(loss):
    pred, target, mask = inputs()
    with pytest.raises(ValueError, match=r'shape \(2, 3, 6, 5\), the target \(2, 1, 6, 5\)'):
        loss()(pred, target[:, :1], mask)


def test_unknown_targets_pull_nothing_towards_zero():
    pred, target, mask = inputs()
    holes = torch.where(mask, target, float('nan'))
    perfect = torch.where(mask, target, 1e3).requires_grad_()
    value, grad = value_and_grad(MultiscaleL1Loss(), perfect, holes, mask)
    assert value == 0 and (grad == 0).all()


@pytest.mark.parametrize('factor', [2, 3])
def test_enlarged_errors_of_the_mask_alone(factor):
    pred, target, mask = inputs()
    loss = MultiscaleL1Loss(factor, inside_only=True)
    value, grad = value_and_grad(loss, pred, target, mask)
    other, other_grad = value_and_grad(loss, pred, target.where(mask, -70.0), mask)
    assert torch.equal(value, other) and torch.equal(grad, other_grad)
    assert (grad.masked_select(~mask.expand_as(grad)) == 0).all() and grad.abs().sum() > 0
    torch.testing.assert_close(loss(pred, pred.detach() + 0.5, mask), torch.tensor(1.5))
    everywhere = torch.ones_like(mask)
    torch.testing.assert_close(loss(pred, target, everywhere), MultiscaleL1Loss(factor)(pred, target, everywhere))
    assert MultiscaleL1Loss(factor)(pred, target.where(mask, -70.0), mask) > 2 * value


@pytest.mark.parametrize('hole', [0.0, float('nan')])
def test_normals_beside_a_missing_point_do_not_count(hole):
    pred, target, mask = inputs()
    mask[:] = True
    mask[:, :, 2, 2] = False
    target[:, :, 2, 2] = hole
    beside = mask.clone()
    beside[:, :, 1, 2] = beside[:, :, 2, 1] = False
    clean = target.clone()
    clean[:, :, 2, 2] = 5.0
    torch.testing.assert_close(PointmapNormalLoss()(pred, target, mask), PointmapNormalLoss()(pred, clean, beside))


def test_gradients_of_rounded_points_stay_small():
    """Steps between bfloat16 values are often parallel or zero, where a normal has no gradient."""
    torch.manual_seed(0)
    rows, columns = (0.003 * axis for axis in torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing='ij'))
    target = torch.stack((0.5 + columns, 0.5 + rows, 2 + columns / 3))[None]
    for pred in ((target + 0.003 * torch.randn_like(target)).bfloat16().float(), torch.ones_like(target)):
        value, grad = value_and_grad(PointmapNormalLoss(), pred.requires_grad_(), target)
        assert value.isfinite() and grad.abs().max() < 10
    value, grad = value_and_grad(NormalCosineSimilarityLoss(), torch.zeros_like(target).requires_grad_(), target)
    assert value.item() == pytest.approx(1) and (grad == 0).all()


def test_silog_worked_by_hand():
    pred, target = (torch.tensor(depths).log().exp().view(1, 1, 1, 2) for depths in ([2.0, 8.0], [1.0, 1.0]))
    a, b = torch.tensor(2.0).log(), torch.tensor(8.0).log()
    assert SiLogLoss()(pred, target) == pytest.approx(((a**2 + b**2) / 2 - 0.5 * ((a + b) / 2) ** 2) ** 0.5)
    assert SiLogLoss(variance_focus=1.0)(3 * target, target) == pytest.approx(0, abs=1e-3)
    assert SiLogLoss()(-pred, target).isfinite()


def test_depth_inside_the_mask_must_be_positive():
    pred, target, mask = inputs()
    target[1, 2, 0, 0], mask[1, 0, 0, 0] = 0.0, True
    with pytest.raises(ValueError, match="'b' has 1 depths inside its mask that are not positive"):
        SiLogLoss()(pred, target, mask, ['a', 'b'])
    mask[1, 0, 0, 0] = False
    assert SiLogLoss()(pred, target, mask).isfinite()


def test_intrinsics_loss_is_zero_on_the_rays_and_ignores_what_is_masked():
    z = torch.rand(2, 6, 5) + 1
    v, u = torch.meshgrid(torch.arange(6.0), torch.arange(5.0), indexing='ij')
    points = torch.stack(((u - 5) / 20 * z, (v - 7) / 22 * z, z), 1)
    loss = PointmapIntrinsicsConsistencyLoss()
    assert loss(points, K) == pytest.approx(0, abs=1e-6)
    points[0, 0, 0, 0] += 0.25
    mask = torch.ones(2, 1, 6, 5, dtype=torch.bool)
    assert loss(points, K, mask) == pytest.approx(0.25 / 60, rel=1e-4)
    mask[0, 0, 0, 0] = False
    assert loss(points, K, mask) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize('entry, value', [((1, 0, 0), 0.0), ((1, 1, 1), -5.0), ((1, 0, 2), float('nan'))])
def test_wrong_camera_names_the_sample(entry, value):
    pred, _, mask = inputs()
    wrong = K.clone()
    wrong[entry] = value
    with pytest.raises(ValueError, match="sample 'b' has 1 camera matrix K"):
        PointmapIntrinsicsConsistencyLoss()(pred, wrong, mask, ['a', 'b'])


def test_pointmap_normals_do_not_change_with_scale():
    pred, target, mask = inputs()
    torch.testing.assert_close(PointmapNormalLoss()(pred * 7, target, mask), PointmapNormalLoss()(pred, target, mask))


def test_scale_loss():
    loss = PointmapScaleL1Loss(loss_weight=2.0)
    assert loss(torch.tensor([[1.0], [2.0]]), torch.tensor([[1.5], [2.0]])) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="'b'"):
        loss(torch.ones(2, 1), torch.tensor([[1.0], [float('nan')]]), ['a', 'b'])


@pytest.mark.parametrize('loss', [CrossEntropyLoss, DiceLoss])
@pytest.mark.parametrize('label', [-1, 4, 254, 256])
def test_labels_that_are_no_class_raise(loss, label):
    labels = torch.zeros(2, 3, 3, dtype=torch.long)
    labels[1, 1, 1] = label
    with pytest.raises(ValueError, match=rf"sample 'b' hold \[{label}\]"):
        loss()(torch.zeros(2, 4, 3, 3), labels, ['a', 'b'])


def test_labels_must_be_integers():
    with pytest.raises(ValueError, match='torch.float32, expected integers'):
        CrossEntropyLoss()(torch.zeros(2, 4, 3, 3), torch.zeros(2, 3, 3))


@pytest.mark.parametrize('loss', [CrossEntropyLoss, DiceLoss])
def test_logits_in_bf16_and_labels_in_uint8(loss):
    logits, labels = torch.randn(2, 4, 3, 3).bfloat16(), torch.randint(0, 4, (2, 3, 3))
    labels[0, 0] = 255
    assert loss()(logits, labels.to(torch.uint8)) == loss()(logits.float(), labels)


def test_ignored_pixels_work_with_class_weights():
    torch.manual_seed(0)
    labels = torch.randint(0, 4, (2, 3, 3))
    labels[0, 0] = 255
    logits = torch.randn(2, 4, 3, 3, requires_grad=True)
    loss = CrossEntropyLoss(reduction='none', class_weight=[1.0, 2.0, 3.0, 4.0])
    value, grad = value_and_grad(loss, logits, labels)
    assert (value[0, 0] == 0).all() and (value[1] > 0).all() and (grad[0, :, 0] == 0).all()
    with pytest.raises(ValueError, match='2 entries for 4 classes'):
        CrossEntropyLoss(class_weight=[1.0, 2.0])(logits, labels)


@pytest.mark.parametrize('loss', [CrossEntropyLoss, DiceLoss])
def test_all_pixels_ignored_give_zero(loss):
    logits = torch.randn(2, 4, 3, 3, requires_grad=True)
    value, grad = value_and_grad(loss(), logits, torch.full((2, 3, 3), 255))
    assert value == 0 and (grad == 0).all()


def test_dice_of_a_perfect_prediction_is_zero():
    labels = torch.randint(0, 4, (2, 8, 8))
    logits = 50 * torch.nn.functional.one_hot(labels, 4).movedim(-1, 1).float()
    assert DiceLoss()(logits, labels) == pytest.approx(0, abs=1e-5)
    assert DiceLoss()(logits.flip(1), labels) > 0.9


def test_heat_maps_without_weight_may_hold_anything():
    torch.manual_seed(0)
    pred, target = torch.randn(2, 3, 4, 4, requires_grad=True), torch.randn(2, 3, 4, 4)
    weights = torch.tensor([[1.0, 0, 1], [0, 0, 0.5]])
    expected = KeypointMSELoss()(pred, target, weights)
    target[0, 1] = float('nan')
    value, grad = value_and_grad(KeypointMSELoss(), pred, target, weights)
    torch.testing.assert_close(value, expected)
    assert grad.isfinite().all() and (grad[weights == 0] == 0).all()
    target[1, 2, 0, 0] = float('inf')
    with pytest.raises(ValueError, match="'b'"):
        KeypointMSELoss()(pred, target, weights, ['a', 'b'])


def test_hardest_key_points():
    pred = torch.zeros(1, 3, 2, 2)
    target = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1).expand(1, 3, 2, 2)
    assert KeypointOHKMMSELoss(topk=2)(pred, target) == pytest.approx((4 + 9) / 2)
    with pytest.raises(ValueError, match='topk is 8'):
        KeypointOHKMMSELoss()(pred, target)
