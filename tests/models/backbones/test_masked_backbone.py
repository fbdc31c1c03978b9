"""The Sapiens2 backbone on some of the tokens of an image."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sapiens2.models.backbones.sapiens2 import Sapiens2
from sapiens2.models.layers import RotaryEmbedding2D, apply_rotary, image_cells

# Size of the image (H, W), pixels of a token, options.
PLAIN, WINDOWS = ((80, 48), 16, {}), ((320, 192), 64, dict(use_tokenizer=True))  # 5 x 3 tokens each
both = pytest.mark.parametrize('variant', [PLAIN, WINDOWS], ids=['patches', 'windows'])


def build(variant: tuple, **options: Any) -> tuple[Sapiens2, Tensor, int]:
    """A backbone whose attention counts, two images, and the pixels of a token."""
    size, token, kind = variant
    torch.manual_seed(0)
    model = Sapiens2('sapiens2_nano', img_size=size, **{'out_type': 'raw', **kind, **options})
    model.init_weights()
    for block in model.blocks:
        torch.nn.init.ones_(block.attn.gamma.weight)
    return model.eval(), torch.randn(2, 3, *size), token


VISIBLE = torch.tensor([[0, 4, 7, 14], [1, 2, 8, 9]])


@both
def test_all_tokens_visible_is_the_whole_image(variant: tuple) -> None:
    model, images, _ = build(variant)
    every = torch.arange(15).expand(2, -1)
    torch.testing.assert_close(model(images, every)[0], model(images)[0])


@both
def test_hidden_pixels_change_nothing_and_visible_ones_do(variant: tuple) -> None:
    model, images, token = build(variant)
    before = model(images, VISIBLE)[0]
    assert before.shape == (2, 9 + 4, 64)
    is_hidden = torch.ones(2, 15, dtype=torch.bool).scatter(1, VISIBLE, False).view(2, 1, 5, 3)
    pixels = is_hidden.repeat_interleave(token, 2).repeat_interleave(token, 3)
    other = torch.where(pixels, torch.full_like(images, torch.nan), images)  # not even a product with zero
    assert torch.equal(model(other, VISIBLE)[0], before)
    seen = images.clone()
    seen[0, 0, token + 2, token + 1] += 1  # in token 4, which is visible
    after = model(seen, VISIBLE)[0]
    assert (after[0] != before[0]).any(dim=1).all() and torch.equal(after[1], before[1])


@both
def test_tokens_keep_their_places(variant: tuple) -> None:
    model, images, _ = build(variant)
    one = model(images, VISIBLE)[0]
    order = torch.tensor([2, 0, 3, 1])
    other = model(images, VISIBLE[:, order])[0]
    torch.testing.assert_close(other[:, 9:], one[:, 9:][:, order], rtol=1e-3, atol=1e-3)
    moved = model(images.roll(1, 0), VISIBLE.roll(1, 0))[0]
    torch.testing.assert_close(moved.roll(1, 0), one, rtol=1e-3, atol=1e-3)
    elsewhere = (VISIBLE + 1) % 15
    cells = image_cells(images, model.size_multiple, VISIBLE)
    copied = images.clone()
    side, columns = model.size_multiple, 3
    for image in range(2):
        for cell, place in zip(cells[image], elsewhere[image].tolist()):
            top, left = place // columns * side, place % columns * side
            copied[image, :, top:top + side, left:left + side] = cell
    assert (model(copied, elsewhere)[0] - one).abs().max() > 1e-3  # the same pixels, elsewhere


def test_inference_in_chunks_gives_the_same() -> None:
    torch.manual_seed(0)
    model = Sapiens2('sapiens2_nano', img_size=(512, 384), out_type='raw').eval()
    model.init_weights()
    visible = torch.stack([torch.randperm(768)[:600].sort().values for _ in range(2)])
    images = torch.randn(2, 3, 512, 384)
    expected = model(images, visible)[0]
    with torch.no_grad():
        torch.testing.assert_close(model(images, visible)[0], expected, rtol=1e-4, atol=1e-5)


def test_there_is_no_map_of_some_tokens() -> None:
    model, images, _ = build(PLAIN, out_type='featmap', out_indices=(0, -1))
    assert [tuple(out.shape) for out in model(images, VISIBLE)] == [(2, 13, 64)] * 2
    model, images, _ = build(PLAIN, out_type='cls_token')
    assert model(images, VISIBLE)[0].shape == (2, 64)


def test_activation_checkpointing_gives_the_same_gradients() -> None:
    gradients = []
    for with_cp in (False, True):
        model, images, _ = build(WINDOWS, with_cp=with_cp)
        model.train()(images, VISIBLE)[0].square().mean().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for plain, recomputed in zip(*gradients):
        torch.testing.assert_close(plain, recomputed)


def test_angles_of_places_are_rows_of_the_table() -> None:
    rope = RotaryEmbedding2D(16, num_prefix_tokens=2, dtype='fp32')
    cos, sin = rope(5, 3)
    some = rope(5, 3, VISIBLE)
    for table, part in zip((cos, sin), some):
        assert part.shape == (2, 2 + 4, 16)
        assert torch.equal(part[1], table[[0, 1, 3, 4, 10, 11]])
    x = torch.randn(2, 6, 4, 16)
    for image in range(2):
        expected = apply_rotary(x[image:image + 1], *(table[image] for table in some))
        assert torch.equal(apply_rotary(x, *some)[image], expected[0])


def test_cells_are_counted_row_by_row() -> None:
    images = torch.arange(2 * 6 * 4).view(2, 1, 6, 4).expand(-1, 3, -1, -1)
    cells = image_cells(images, 2, torch.tensor([[3], [0]]))
    assert cells.shape == (2, 1, 3, 2, 2)
    assert cells[0, 0, 0].tolist() == [[10, 11], [14, 15]] and cells[1, 0, 2].tolist() == [[24, 25], [28, 29]]
