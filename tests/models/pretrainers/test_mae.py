"""The masked autoencoder: hidden places, target, loss, reconstruction."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sapiens2.models.pretrainers.mae import MAEBranch, hidden_places

SMALL = dict(in_channels=8, num_prefix_tokens=2, channels=16, depth=2, num_heads=2)


def branch(**options) -> MAEBranch:  # noqa: ANN003
    torch.manual_seed(0)
    made = MAEBranch(**{**SMALL, **options})
    made.init_weights()
    return made


def test_hidden_places_are_the_others_in_order() -> None:
    visible = torch.tensor([[0, 3], [5, 1]])
    assert hidden_places(visible, 6).tolist() == [[1, 2, 4, 5], [0, 2, 3, 4]]
    assert hidden_places(torch.arange(6)[None], 6).shape == (1, 0)


def test_target_worked_by_hand() -> None:
    # One token of 2 x 2 pixels: red 1 2 3 4, green 5 everywhere, blue 0. Mean (10 + 20 + 0) / 12 = 2.5; mean of squares
    # (30 + 100) / 12; variance 130 / 12 - 6.25 = 55 / 12.
    image = torch.tensor([[[1., 2.], [3., 4.]], [[5., 5.], [5., 5.]], [[0., 0.], [0., 0.]]])[None]
    mae = branch(token_size=2)
    target, mean, deviation = mae.target(image, torch.tensor([[0]]))
    assert mean.item() == pytest.approx(2.5) and deviation.item() == pytest.approx((55 / 12)**0.5, rel=1e-6)
    expected = torch.tensor([1., 2, 3, 4, 5, 5, 5, 5, 0, 0, 0, 0])
    torch.testing.assert_close(target[0, 0], (expected - 2.5) / (55 / 12)**0.5)


def test_target_of_a_window_is_its_pixels_at_half_resolution() -> None:
    image = torch.rand(1, 3, 8, 4)
    mae = branch(token_size=4, shrink=2)
    target, mean, deviation = mae.target(image, torch.tensor([[1]]))
    pixels = (target * deviation + mean).view(3, 2, 2)
    expected = torch.stack([image[0, :, 4 + 2 * row:6 + 2 * row, 2 * column:2 + 2 * column].mean((1, 2))
                            for row in range(2) for column in range(2)], dim=1).view(3, 2, 2)
    torch.testing.assert_close(pixels, expected)


def test_an_even_token_has_a_target_of_zero() -> None:
    target, _, _ = branch(token_size=4).target(torch.full((1, 3, 4, 4), 0.7), torch.tensor([[0]]))
    assert target.abs().max() < 1e-3


def pictures() -> tuple[Tensor, Tensor, Tensor]:
    """Tokens of a backbone, images of 3 x 2 tokens of 4 pixels, and their visible places."""
    return torch.randn(2, 2 + 2, 8), torch.randn(2, 3, 12, 8), torch.tensor([[0, 4], [2, 3]])


def test_loss_is_that_of_hidden_tokens_alone() -> None:
    mae = branch(token_size=4)
    tokens, images, visible = pictures()
    before = mae(tokens, images, visible)
    cells = images.view(2, 3, 3, 4, 2, 4)
    changed = cells.clone()
    changed[0, :, 2, :, 0] += torch.randn(3, 4, 4)  # token 4 of the first image, which is visible
    assert torch.equal(mae(tokens, changed.view_as(images), visible), before)
    changed = cells.clone()
    changed[0, :, 2, :, 1] += torch.randn(3, 4, 4)  # token 5, which is hidden
    assert mae(tokens, changed.view_as(images), visible) != before


def test_loss_is_the_mean_of_squares() -> None:
    mae = branch(token_size=4)
    tokens, images, visible = pictures()
    hidden = mae.hidden(images, visible)
    prediction = mae.decode(tokens, (3, 2), visible, hidden)
    target = mae.target(images, hidden)[0]
    assert prediction.shape == target.shape == (2, 4, 48)
    torch.testing.assert_close(mae(tokens, images, visible), (prediction - target).square().mean())


def test_the_order_of_tokens_does_not_matter() -> None:
    mae = branch(token_size=4)
    tokens, images, visible = pictures()
    order = [0, 1, 3, 2]
    torch.testing.assert_close(mae(tokens[:, order], images, visible.flip(1)), mae(tokens, images, visible))


def test_reconstruction_keeps_what_is_visible() -> None:
    mae = branch(token_size=4)
    tokens, images, visible = pictures()
    picture = mae.reconstruct(tokens, images, visible)
    assert picture.shape == images.shape
    is_visible = torch.zeros(2, 6, dtype=torch.bool).scatter(1, visible, True).view(2, 1, 3, 1, 2, 1)
    is_visible = is_visible.expand(2, 3, 3, 4, 2, 4).reshape_as(images)
    torch.testing.assert_close(picture[is_visible], images[is_visible])
    assert (picture - images)[~is_visible].abs().mean() > 0.1


def test_a_perfect_decoder_gives_back_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    mae = branch(token_size=4, shrink=2)
    tokens, images, visible = pictures()
    hidden = mae.hidden(images, visible)
    monkeypatch.setattr(mae, 'decode', lambda *args: mae.target(images, hidden)[0])
    torch.testing.assert_close(mae.reconstruct(tokens, images, visible), torch.nn.functional.avg_pool2d(images, 2))
    assert mae(tokens, images, visible) == 0


def test_gradients_are_right() -> None:
    mae = branch(token_size=2).double()
    mae.rope_embed = type(mae.rope_embed)(8, 2, dtype='fp32')
    mae.rope_embed.dtype = torch.float64
    mae.rope_embed.periods = mae.rope_embed.periods.double()
    images = torch.randn(1, 3, 4, 4, dtype=torch.float64)

    def loss(tokens: Tensor) -> Tensor:
        hidden = mae.hidden(images, visible)
        return (mae.decode(tokens, (2, 2), visible, hidden) - mae.target(images, hidden)[0]).square().mean()

    visible = torch.tensor([[2]])
    assert torch.autograd.gradcheck(loss, torch.randn(1, 3, 8, dtype=torch.float64, requires_grad=True))


def test_a_window_that_does_not_shrink_evenly() -> None:
    with pytest.raises(ValueError, match='does not divide'):
        branch(token_size=5, shrink=2)
