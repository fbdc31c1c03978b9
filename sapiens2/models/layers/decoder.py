"""Stacks of convolutions that decoders are made of. All end in norm and SiLU; sizes are (H, W)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from sapiens2.models.layers.decoder_chunks import DecoderStages

# Makes the norm of so many channels.
NormFactory = Callable[[int], nn.Module]


class ChannelRMSNorm(nn.Module):
    """RMSNorm (Zhang and Sennrich, arXiv 1910.07467) over the channels of each pixel: (B, C, H, W) -> the same.

    The statistics are float32 whatever the input's dtype.
    """

    def __init__(self, channels: int, eps: float = 1e-6) -> None:
        super().__init__()
        # The weight stands one level down in the released checkpoints.
        self.norm = nn.RMSNorm(channels, eps=eps)

    def forward(self, x: Tensor) -> Tensor:
        inverse = torch.rsqrt(x.float().square().mean(dim=1, keepdim=True) + self.norm.eps)
        return (x * inverse).to(x.dtype) * self.norm.weight.to(x.dtype)[:, None, None]


def convs(in_channels: int,
          out_channels: Sequence[int],
          kernel_sizes: Sequence[int],
          norm: NormFactory = nn.InstanceNorm2d,
          stride: int = 1,
          with_cp: bool = False) -> DecoderStages:
    """[convolution, norm, SiLU] for each of ``out_channels``, each dividing the size by ``stride``, rounded up.

    ``with_cp`` is that of ``DecoderStages``, here and below.

    Raises:
        ValueError: if the lists differ in length or a kernel size is even.
    """
    _check_lengths(out_channels, kernel_sizes, 'conv')
    layers: list[nn.Module] = []
    for channels, kernel in zip(out_channels, kernel_sizes):
        if kernel % 2 == 0:
            raise ValueError(f'kernel size {kernel} is even: it would shift the output; take an odd one')
        layers += [
            nn.Conv2d(in_channels, channels, kernel, stride=stride, padding=kernel // 2),
            norm(channels),
            nn.SiLU(inplace=True)
        ]
        in_channels = channels
    return DecoderStages(*layers, with_cp=with_cp)


def deconvs(in_channels: int,
            out_channels: Sequence[int],
            kernel_sizes: Sequence[int],
            norm: NormFactory = nn.InstanceNorm2d,
            with_cp: bool = False) -> DecoderStages:
    """[transposed convolution x2 without bias, norm, SiLU] for each of ``out_channels``.

    Raises:
        ValueError: if the lists differ in length or a kernel size is none of 2, 3, 4.
    """
    _check_lengths(out_channels, kernel_sizes, 'deconv')
    layers: list[nn.Module] = []
    for channels, kernel in zip(out_channels, kernel_sizes):
        if kernel not in (2, 3, 4):
            raise ValueError(f'a deconvolution that doubles the size has a kernel of 2, 3 or 4, not {kernel}')
        # out = 2 * (in - 1) - 2 * padding + kernel + output_padding = 2 * in
        padding = (kernel - 1) // 2
        layers += [
            nn.ConvTranspose2d(in_channels, channels, kernel, stride=2, padding=padding,
                               output_padding=2 * padding + 2 - kernel, bias=False),
            norm(channels),
            nn.SiLU(inplace=True)
        ]
        in_channels = channels
    return DecoderStages(*layers, with_cp=with_cp)


def pixel_shuffle_blocks(in_channels: int,
                         out_channels: Sequence[int],
                         norm: NormFactory = nn.InstanceNorm2d,
                         with_cp: bool = False) -> nn.Sequential:
    """Blocks of [3x3 convolution to 4C, pixel shuffle x2, norm, SiLU], one for each C of ``out_channels``.

    Pixel shuffle: Shi et al., arXiv 1609.05158.
    """
    blocks: list[nn.Module] = []
    for channels in out_channels:
        blocks.append(DecoderStages(
            nn.Conv2d(in_channels, 4 * channels, kernel_size=3, padding=1),
            nn.PixelShuffle(2),
            norm(channels),
            nn.SiLU(inplace=True),
            with_cp=with_cp))
        in_channels = channels
    return nn.Sequential(*blocks)


def _check_lengths(channels: Sequence[int], kernels: Sequence[int], name: str) -> None:
    if len(channels) != len(kernels):
        raise ValueError(f'{name}_out_channels has {len(channels)} entries and {name}_kernel_sizes {len(kernels)}: '
                         f'give one kernel size per layer')
