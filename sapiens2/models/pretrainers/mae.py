"""Masked autoencoder: from some tokens of a picture, a light decoder tells the pixels of the others.

He et al., Masked autoencoders are scalable vision learners, arXiv 2111.06377. Differs in the blocks (those of the
backbone: rotary positions, RMSNorm, gated unit), in that storage tokens go through the decoder like the class token,
in the variance that pixels are divided by (the sum over n values by n, where theirs is by n - 1), and in the target
behind the 4K tokenizer: a window of patches at half resolution.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from torch import Tensor, nn

from sapiens2.models.backbones.base import init_transformer, run_block
from sapiens2.models.layers import RotaryEmbedding2D, TransformerBlock, image_cells
from sapiens2.registry import MODELS

VARIANCE_EPS = 1e-6  # of normalised pixels; an even patch has a target of zero


def visible_mask(visible: Tensor, tokens: int) -> Tensor:
    """Whether each of ``tokens`` is one of ``visible`` (B, n): (B, tokens) bool."""
    return torch.zeros(len(visible), tokens, dtype=torch.bool, device=visible.device).scatter_(1, visible, True)


def hidden_places(visible: Tensor, tokens: int) -> Tensor:
    """The places of ``tokens`` that are not in ``visible`` (B, n), ascending: (B, tokens - n)."""
    # A stable sort of zeros and ones lists places in order, and needs no word from the device on how many there are.
    return visible_mask(visible, tokens).byte().argsort(dim=1, stable=True)[:, :tokens - visible.shape[1]]


@MODELS.register_module()
class MAEBranch(BaseModule):
    """Decoder and loss of the masked autoencoder.

    Args:
        in_channels: C of the backbone; the pretrainer fills it in.
        num_prefix_tokens: class and storage tokens of the backbone; the pretrainer fills it in.
        token_size: pixels along a side of the square that a token stands for; the pretrainer fills it in.
        shrink: the target is the mean of ``shrink`` x ``shrink`` pixels each; the pretrainer fills in 2 with the 4K
            tokenizer, so that pictures of 4096 x 3072 are reconstructed at 2048 x 1536, and else 1.
        channels: of the decoder.
        depth: its blocks.
        num_heads: attention heads.
        feedforward_channels: channels of each half of the gated unit; default 8 / 3 of ``channels``, which has as many
            weights as a plain unit of four times the width.
        with_cp: recompute the activations of each block in the backward pass.
        init_cfg: MMEngine's initialisation.

    Raises:
        ValueError: for widths that do not divide.
    """

    def __init__(self,
                 in_channels: int,
                 num_prefix_tokens: int,
                 token_size: int = 16,
                 shrink: int = 1,
                 channels: int = 512,
                 depth: int = 8,
                 num_heads: int = 16,
                 feedforward_channels: int | None = None,
                 with_cp: bool = False,
                 init_cfg: dict | None = None) -> None:
        super().__init__(init_cfg)
        if token_size % shrink:
            raise ValueError(f'shrink {shrink} does not divide the {token_size} pixels of a token')
        self.num_prefix_tokens, self.token_size, self.shrink = num_prefix_tokens, token_size, shrink
        self.with_cp = with_cp
        hidden = feedforward_channels or round(channels / 3) * 8
        self.embed = nn.Linear(in_channels, channels)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, channels))
        self.rope_embed = RotaryEmbedding2D(channels // num_heads, num_prefix_tokens)
        self.blocks = nn.ModuleList(
            TransformerBlock(channels, num_heads, hidden, layer_scale=False) for _ in range(depth))
        self.norm = nn.RMSNorm(channels, eps=1e-6)
        self.predict = nn.Linear(channels, 3 * (token_size // shrink)**2)

    def init_weights(self) -> None:
        """Truncated normal (0.02) for weights and the mask token; then what ``init_cfg`` asks for."""
        init_transformer(self)
        nn.init.trunc_normal_(self.mask_token, std=0.02)
        self.rope_embed.periods.copy_(self.rope_embed.compute_periods())
        super().init_weights()

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Rows and columns of tokens of images (B, 3, H, W)."""
        return images.shape[-2] // self.token_size, images.shape[-1] // self.token_size

    def forward(self, tokens: Tensor, images: Tensor, visible: Tensor) -> Tensor:
        """The loss: mean squared error of the hidden tokens' normalised pixels, a scalar.

        Args:
            tokens: (B, prefix + n, C), the backbone's output for the visible tokens.
            images: (B, 3, H, W), normalised RGB.
            visible: (B, n) int64, places of the visible tokens, counted row by row.
        """
        hidden = self.hidden(images, visible)
        target, _, _ = self.target(images, hidden)
        prediction = self.decode(tokens, self.grid(images), visible, hidden)
        with torch.autocast(prediction.device.type, enabled=False):
            return F.mse_loss(prediction.float(), target)

    def hidden(self, images: Tensor, visible: Tensor) -> Tensor:
        """Places (B, N - n) of the tokens that are not visible."""
        rows, columns = self.grid(images)
        return hidden_places(visible, rows * columns)

    def target(self, images: Tensor, places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pixels of some tokens, made to have mean zero and variance one in each token, all channels together.

        Args:
            images: (B, 3, H, W), normalised RGB.
            places: (B, m) int64.

        Returns:
            Target (B, m, 3 * s * s), float32, by channel, row and column with s = token_size / shrink; and the mean and
            standard deviation that were taken out, (B, m, 1).
        """
        if self.shrink > 1:
            images = F.avg_pool2d(images, self.shrink)
        pixels = image_cells(images.float(), self.token_size // self.shrink, places).flatten(2)
        variance, mean = torch.var_mean(pixels, dim=-1, correction=0, keepdim=True)
        deviation = (variance + VARIANCE_EPS).sqrt()
        return (pixels - mean) / deviation, mean, deviation

    def decode(self, tokens: Tensor, grid: tuple[int, int], visible: Tensor, hidden: Tensor) -> Tensor:
        """Normalised pixels (B, N - n, 3 * s * s) of the hidden tokens.

        Visible tokens come first and hidden ones last: the decoder knows places by their angles, not by their order.
        """
        tokens = self.embed(tokens)
        masks = self.mask_token.expand(*hidden.shape, -1)
        tokens = torch.cat((tokens, masks), dim=1)
        rope = self.rope_embed(*grid, torch.cat((visible, hidden), dim=1))
        for block in self.blocks:
            tokens = run_block(block, self.with_cp, tokens, rope)
        return self.predict(self.norm(tokens[:, -hidden.shape[1]:]))

    def reconstruct(self, tokens: Tensor, images: Tensor, visible: Tensor) -> Tensor:
        """Pictures (B, 3, H / shrink, W / shrink), normalised RGB: hidden tokens as decoded, the others as they are.

        Decoded pixels get the mean and deviation of the true ones, which the network was not asked for.
        """
        hidden = self.hidden(images, visible)
        rows, columns = self.grid(images)
        every = torch.arange(rows * columns, device=images.device).expand(len(images), -1)
        pixels, mean, deviation = self.target(images, every)
        prediction = self.decode(tokens, (rows, columns), visible, hidden).float()
        pixels = pixels.scatter(1, hidden[..., None].expand_as(prediction), prediction) * deviation + mean
        side = self.token_size // self.shrink
        pixels = pixels.view(len(images), rows, columns, 3, side, side).permute(0, 3, 1, 4, 2, 5)
        return pixels.reshape(len(images), 3, rows * side, columns * side)
