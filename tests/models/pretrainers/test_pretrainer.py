"""The pretrainer: one forward plan for both branches, their losses, gradients and weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sapiens2.registry import MODELS
from sapiens2.structures import DataSample

BACKBONE = dict(type='Sapiens2', arch='sapiens2_nano', img_size=(80, 48))  # 5 x 3 tokens
WINDOWS = dict(BACKBONE, img_size=(320, 192), use_tokenizer=True)  # 5 x 3 tokens
MAE = dict(type='MAEBranch', channels=32, depth=2, num_heads=2)
CONTRASTIVE = dict(
    type='ContrastiveBranch', head=dict(hidden=32, bottleneck=16, prototypes=24), freeze_prototypes=0)
SAMPLES = [DataSample(metainfo=dict(sample_id=str(number))) for number in range(3)]
UNIFIED = dict(mae=MAE, contrastive=CONTRASTIVE)


def build(**options: Any) -> nn.Module:
    """A pretrainer in training, some way into its run, whose attention counts."""
    torch.manual_seed(0)
    model = MODELS.build(dict(type='Sapiens2Pretrainer', **{'backbone': BACKBONE, **options}))
    model.init_weights()
    for block in model.backbone.blocks:
        nn.init.ones_(block.attn.gamma.weight)
    model.start_teacher()
    model.set_progress(5, 10)
    return model.train()


def batch(size: tuple[int, int] = (80, 48), visible: int = 4) -> dict[str, Any]:
    """Two global and three local crops of each of three samples, as the collate function gives them."""
    generator = torch.Generator().manual_seed(1)

    def pixels(*shape: int) -> Tensor:
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)

    places = torch.stack([torch.randperm(15, generator=generator)[:visible].sort().values for _ in range(6)])
    small = (64, 64) if size[0] > 100 else (32, 16)
    return dict(inputs=dict(global_crops=pixels(3, 2, 3, *size), local_crops=pixels(3, 3, 3, *small),
                            visible=places.view(3, 2, visible)), data_samples=SAMPLES)


def losses(model: nn.Module, data: dict[str, Any]) -> dict[str, Tensor]:
    return model(**model.data_preprocessor(data, True), mode='loss')


def hidden_pixels(data: dict[str, Any], token: int) -> Tensor:
    """Where hidden pixels are, (B, G, 1, H, W)."""
    is_hidden = torch.ones(3, 2, 15, dtype=torch.bool).scatter(2, data['inputs']['visible'], False)
    return is_hidden.view(3, 2, 1, 5, 3).repeat_interleave(token, 3).repeat_interleave(token, 4)


def test_preprocessor_puts_crops_in_order() -> None:
    data = batch()
    model = build(mae=MAE)
    out = model.data_preprocessor(data)['inputs']
    assert out['global_crops'].shape == (6, 3, 80, 48) and out['local_crops'].shape == (9, 3, 32, 16)
    mean, std = torch.tensor([123.675, 116.28, 103.53]), torch.tensor([58.395, 57.12, 57.375])
    bgr = data['inputs']['global_crops'][2, 1, :, 7, 9].float()
    torch.testing.assert_close(out['global_crops'][3 + 2, :, 7, 9], (bgr.flip(0) - mean) / std)
    assert torch.equal(out['visible'][3 + 2], data['inputs']['visible'][2, 1])
    as_read = model.data_preprocessor.denormalise(out['global_crops'])
    assert torch.equal(as_read[3 + 2], data['inputs']['global_crops'][2, 1])


@pytest.mark.parametrize('backbone, token', [(BACKBONE, 16), (WINDOWS, 64)], ids=['patches', 'windows'])
def test_the_encoder_does_not_see_hidden_pixels(backbone: dict, token: int) -> None:
    model = build(backbone=backbone, mae=MAE)
    data = batch(backbone['img_size'])
    before = model(**model.data_preprocessor(data))
    assert before.shape == (6, 9 + 4, 64)
    crops = data['inputs']['global_crops']
    data['inputs']['global_crops'] = torch.where(hidden_pixels(data, token), 255 - crops, crops)
    assert torch.equal(model(**model.data_preprocessor(data)), before)


def test_windows_are_reconstructed_at_half_resolution() -> None:
    model = build(backbone=WINDOWS, mae=MAE)
    assert model.mae.token_size == 64 and model.mae.predict.out_features == 3 * 32 * 32
    data = model.data_preprocessor(batch((320, 192)))
    assert model.reconstruct(data['inputs']).shape == (6, 3, 160, 96)
    loss = model(**data, mode='loss')['loss_mae']
    assert 0.5 < loss < 2


@pytest.mark.parametrize('branches', [dict(mae=MAE), dict(contrastive=CONTRASTIVE), UNIFIED,
                                      dict(mae=MAE, contrastive=dict(CONTRASTIVE, dense=dict()))],
                         ids=['mae', 'contrastive', 'unified', 'dense'])
def test_every_trained_parameter_gets_a_gradient_and_the_teacher_none(branches: dict[str, Any]) -> None:
    model = build(**branches)
    output = losses(model, batch())
    names = {name for name in output if 'loss' in name}
    assert ('loss_mae' in names) == ('mae' in branches) and ('loss_contrastive' in names) == ('contrastive' in branches)
    model.parse_losses(output)[0].backward()
    for name, parameter in model.named_parameters():
        is_teacher = 'teacher' in name
        assert parameter.requires_grad != is_teacher, name
        if is_teacher:
            assert parameter.grad is None, name
        else:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert not model.teacher_backbone.training if model.teacher_backbone else 'contrastive' not in branches


def test_student_sees_masked_crops_and_the_teacher_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(**UNIFIED)
    seen: list[tuple[str, tuple, bool]] = []
    for name in ('backbone', 'teacher_backbone'):
        module = getattr(model, name)
        module.register_forward_hook(lambda module, args, out, name=name: seen.append(
            (name, tuple(out[0].shape[:2]), torch.is_grad_enabled())))
    given = {}
    monkeypatch.setattr(model.contrastive, 'forward', lambda *args, **kwargs: given.update(args=args) or {})
    losses(model, batch())
    assert seen == [('backbone', (6, 13), True), ('teacher_backbone', (6, 24), False), ('backbone', (9, 11), True)]
    student, local, teacher = given['args']
    assert student.shape == (2, 3, 64) and local.shape == (3, 3, 64) and teacher.shape == (2, 3, 64)
    inputs = model.data_preprocessor(batch())['inputs']
    torch.testing.assert_close(teacher[1, 2], model.teacher_backbone(inputs['global_crops'])[0][3 + 2, 0])
    torch.testing.assert_close(student[1, 2], model.backbone(inputs['global_crops'], inputs['visible'])[0][3 + 2, 0])


def test_without_masks_the_student_sees_whole_crops() -> None:
    model = build(contrastive=CONTRASTIVE)
    shapes: list[tuple[int, ...]] = []
    model.backbone.register_forward_hook(lambda module, args, out: shapes.append(tuple(out[0].shape[:2])))
    losses(model, batch())
    assert shapes == [(6, 24), (9, 11)]


def test_dense_term_compares_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(mae=MAE, contrastive=dict(CONTRASTIVE, dense=dict())).eval()
    given: dict[str, Tensor] = {}
    monkeypatch.setattr(model.contrastive, 'forward', lambda *args, **kwargs: given.update(kwargs) or {})
    data = batch()
    losses(model, data)
    inputs = model.data_preprocessor(data)['inputs']
    whole = model.teacher_backbone(inputs['global_crops'])[0][:, 9:]
    assert given['student_patches'].shape == given['teacher_patches'].shape == (6, 4, 64)
    torch.testing.assert_close(given['teacher_patches'][4, 3], whole[4, inputs['visible'][4, 3]])


def test_weights_follow_their_schedules() -> None:
    model = build(mae=MAE, contrastive=CONTRASTIVE, mae_weight=2.0,
                  contrastive_weight=dict(type='Linear', start=0.0, end=4.0, warmup=1.0))
    plain = build(**UNIFIED)
    data = batch()
    torch.manual_seed(0)
    one = losses(model, data)
    torch.manual_seed(0)
    other = losses(plain, data)
    torch.testing.assert_close(one['loss_mae'], 2 * other['loss_mae'])
    torch.testing.assert_close(one['loss_contrastive'], 2 * other['loss_contrastive'])  # half of the run is behind
    figures = [name for name in one if 'loss' not in name]
    assert figures and all(torch.equal(one[name], other[name]) for name in figures)


@pytest.mark.parametrize('branches', [dict(mae=MAE), dict(contrastive=CONTRASTIVE), UNIFIED])
def test_schedules_need_to_be_told(branches: dict[str, Any]) -> None:
    model = MODELS.build(dict(type='Sapiens2Pretrainer', backbone=BACKBONE, **branches))
    with pytest.raises(RuntimeError, match='PretrainingHook'):
        losses(model, batch())


def test_the_last_block_that_is_returned_is_trained() -> None:
    data = batch()
    inputs = build(**UNIFIED).data_preprocessor(data)['inputs']
    one, several = (build(backbone=dict(BACKBONE, out_indices=indices), **UNIFIED).eval() for indices in (-1, (1, -1)))
    assert torch.equal(one.encode(inputs), several.encode(inputs))
    one, several = (model._contrast(model.encode(inputs), inputs, 3) for model in (one, several))
    assert torch.equal(one['loss_contrastive'], several['loss_contrastive'])


def test_teacher_starts_as_the_student_and_follows_it() -> None:
    model = build(**UNIFIED)
    student, teacher = model.backbone, model.teacher_backbone
    assert all(torch.equal(value, teacher.state_dict()[name]) for name, value in student.state_dict().items())
    before = teacher.ln1.weight.clone()
    with torch.no_grad():
        student.ln1.weight += 1
    model.contrastive.momentum = lambda iteration, max_iters: 0.75
    model.update_teacher()
    torch.testing.assert_close(teacher.ln1.weight, before + 0.25)
    kept = teacher.ln1.weight.clone()
    model.start_teacher()  # of a run that is resumed
    assert torch.equal(teacher.ln1.weight, kept)


def test_activation_checkpointing_gives_the_same_gradients() -> None:
    gradients = []
    for with_cp in (False, True):
        model = build(backbone=dict(BACKBONE, with_cp=with_cp), mae=dict(MAE, with_cp=with_cp), contrastive=CONTRASTIVE)
        model.parse_losses(losses(model, batch()))[0].backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()
                          if parameter.requires_grad})
    for name, value in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], value)


def test_it_learns_a_handful_of_pictures() -> None:
    model = build(mae=dict(MAE, channels=64))
    data = batch(visible=8)
    # Smooth pictures: noise could only be learnt by heart.
    ramp = torch.linspace(0, 6.28, 80)[:, None] * torch.linspace(0.5, 1.5, 6).view(3, 2, 1, 1, 1)
    ramp = ramp + torch.linspace(0, 3, 48)
    data['inputs']['global_crops'] = (127 + 120 * ramp.sin()).expand(-1, -1, 3, -1, -1).to(torch.uint8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    course = []
    for _ in range(120):
        loss = losses(model, data)['loss_mae']
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        course.append(loss.item())
    assert course[0] > 0.8 and course[-1] < 0.25 * course[0], course[::20]


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match='with neither there is no loss'):
        build()
    with pytest.raises(ValueError, match='leave out_type'):
        build(backbone=dict(BACKBONE, out_type='featmap'), mae=MAE)
    with pytest.raises(ValueError, match='cannot leave tokens out'):
        build(backbone=dict(type='Sapiens', arch='sapiens_nano', img_size=(80, 48), with_cls_token=True), mae=MAE)
    with pytest.raises(ValueError, match='no class token.*with_cls_token=True'):
        build(backbone=dict(type='Sapiens', arch='sapiens_nano', img_size=(80, 48)), contrastive=CONTRASTIVE)
    with pytest.raises(ValueError, match='TimmBackbone gives maps.*use Sapiens2'):
        build(backbone=dict(type='TimmBackbone', model_name='test_vit'), contrastive=CONTRASTIVE)
    model, data = build(mae=MAE), batch()
    del data['inputs']['visible']
    with pytest.raises(ValueError, match='RandomTokenMask'):
        losses(model, data)
    data = batch()
    data['inputs']['visible'] = data['inputs']['visible'] + 60  # of smaller tokens there are more
    for size in (8, 64):
        data['data_samples'] = [DataSample(metainfo=dict(token_size=size)) for _ in range(3)]
        with pytest.raises(ValueError, match='token_size=16 of RandomTokenMask'):
            losses(model, data)
    data = batch()
    data['inputs']['local_crops'] = torch.zeros(3, 2, 3, 30, 33, dtype=torch.uint8)
    with pytest.raises(ValueError, match=r'local_crops .*\(30, 33\).*of 16: set local_crops.size of MultiCrop'):
        losses(build(contrastive=CONTRASTIVE), data)
    for field in ('mae_weight', 'contrastive_weight'):
        for value in (-1, dict(type='Linear', start=-0.1, end=1.0, warmup=0.5)):
            with pytest.raises(ValueError, match=f'model.{field} must be at least 0'):
                build(mae=MAE, **{field: value})
    with pytest.raises(ValueError, match='global_crops'):
        model.data_preprocessor(dict(inputs=torch.zeros(1, 3, 16, 16)))
    with pytest.raises(ValueError, match='reconstructs nothing'):
        build(contrastive=CONTRASTIVE).reconstruct({})
