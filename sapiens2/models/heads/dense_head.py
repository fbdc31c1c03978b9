"""Dense decoders: how a prediction comes back to the source image, and the trunk of the three regression heads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Optional

import torch
from mmengine.structures import BaseDataElement
from torch import Tensor, nn

from sapiens2.models.heads.base_head import BaseHead, Config, LossConfig
from sapiens2.models.layers.decoder import NormFactory, convs, pixel_shuffle_blocks
from sapiens2.models.layers.decoder_chunks import last_layer
from sapiens2.structures import DataSample
from sapiens2.structures.names import sample_name


def cut_padding(maps: Tensor, sample: DataSample, index: int) -> Tensor:
    """(C, H, W) of the network input without the sample's padding.

    Raises:
        ValueError: if nothing is left.
    """
    left, right, top, bottom = (int(pixels) for pixels in sample.get('padding', (0, 0, 0, 0)))
    height, width = maps.shape[1:]
    if min(left, right, top, bottom) < 0 or left + right >= width or top + bottom >= height:
        raise ValueError(f'{sample_name(sample, index)}: padding (left, right, top, bottom) = '
                         f'{(left, right, top, bottom)} leaves nothing of a prediction of (H, W) = {(height, width)}')
    return maps[:, top:height - bottom, left:width - right]


def source_size(sample: DataSample, index: int) -> tuple[int, int]:
    """(H, W) of the source image.

    Raises:
        ValueError: if the sample does not know it.
    """
    if 'ori_shape' not in sample:
        raise ValueError(f"{sample_name(sample, index)}: metainfo has no 'ori_shape', the size to which predictions "
                         f'are resized: load the image in the pipeline, or set it in the sample')
    height, width = sample.ori_shape[:2]
    return int(height), int(width)


class DenseHead(BaseHead):
    """A head that predicts a value for each pixel of the network input."""

    def predictions(self, output: Any, data_samples: Sequence[DataSample], **options: Any) -> list[DataSample]:
        """Set ``pred_fields`` of each sample, at the size of its source image, and return the samples."""
        maps, *others = output if isinstance(output, tuple) else (output,)
        for i, sample in enumerate(data_samples):
            fields = self.postprocess(
                cut_padding(maps[i].float(), sample, i), source_size(sample, i),
                *(other[i].float() for other in others), **options)
            sample.pred_fields = BaseDataElement(**fields)
        return list(data_samples)

    @abstractmethod
    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        """Fields of one sample.

        Args:
            maps: (C, h, w), float32, without padding.
            size: (H, W) of the source image.
            others: what else ``forward`` returns, of this sample.
            options: as named by ``test_options``.
        """


class UpsampleHead(DenseHead):
    """Trunk of the heads that regress three values a pixel.

    A 3x3 convolution, blocks of pixel shuffle that double the size, 3x3 convolutions, one 1x1 convolution.

    Args:
        in_channels: channels C of the feature map.
        upsample_channels: channels after each doubling.
        conv_out_channels: channels of the convolutions at full size.
        conv_kernel_sizes: their kernel sizes, pixels.
        loss_decode: as in ``BaseHead``.
        init_cfg, with_cp: as in ``BaseHead``.
    """

    # Field of ``gt_fields`` and ``pred_fields``; the last layer is called ``conv_<field>``.
    field: ClassVar[str]
    norm: ClassVar[NormFactory] = nn.InstanceNorm2d

    def __init__(self,
                 in_channels: int,
                 upsample_channels: Sequence[int] = (768, 512, 256, 128),
                 conv_out_channels: Sequence[int] = (64, 32, 16),
                 conv_kernel_sizes: Sequence[int] = (3, 3, 3),
                 loss_decode: Optional[LossConfig] = None,
                 init_cfg: Optional[Config] = None,
                 with_cp: bool = False) -> None:
        super().__init__(in_channels, loss_decode, init_cfg, with_cp)
        self.input_conv = convs(in_channels, [in_channels], [3], self.norm, with_cp=with_cp)
        self.upsample_blocks = pixel_shuffle_blocks(in_channels, upsample_channels, self.norm, with_cp)
        width = (in_channels, *upsample_channels)[-1]
        self.conv_layers = convs(width, conv_out_channels, conv_kernel_sizes, self.norm, with_cp=with_cp)
        self.add_module(f'conv_{self.field}', nn.Conv2d((width, *conv_out_channels)[-1], 3, kernel_size=1))

    def forward(self, feats: Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
        """Feature maps, the last of (B, C, h, w), to (B, 3, H, W) with H = h * 2 ** blocks."""
        x = self.input_conv(self.features(feats))
        return last_layer(self.get_submodule(f'conv_{self.field}'), self.conv_layers(self.upsample_blocks(x)))

    def target_getters(self, output: Tensor, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        size = tuple(output.shape[2:])
        return {
            'pred': output.float,
            'target': lambda: self.stack(data_samples, self.field, (3, *size), output),
            'mask': lambda: self.stack(data_samples, 'mask', (1, *size), output, torch.bool),
        }
