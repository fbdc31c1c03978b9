"""Body-part segmentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Optional

import torch
from torch import Tensor, nn

from sapiens2.models.heads.base_head import Config, LossConfig
from sapiens2.models.heads.dense_head import DenseHead
from sapiens2.models.heads.resize import BAND_VALUES, resize, resize_bands
from sapiens2.models.layers.decoder import convs, deconvs
from sapiens2.models.layers.decoder_chunks import last_layer
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample


@MODELS.register_module()
class SegHead(DenseHead):
    """Deconvolutions to full size, 1x1 convolutions, one logit a class and pixel.

    Losses may ask for ``pred`` (B, classes, H, W) logits, ``target`` (B, H, W) labels and ``names``. Predicts
    ``sem_seg`` (H, W), int64: logits are resized to the source image before the largest is taken, in bands of rows, so
    that the logits of a large image are never held at once.

    Args:
        in_channels: channels C of the feature map.
        deconv_out_channels: channels after each doubling.
        deconv_kernel_sizes: their kernel sizes, pixels.
        conv_out_channels: channels of the convolutions at full size.
        conv_kernel_sizes: their kernel sizes, pixels.
        num_classes: classes, background included.
        loss_decode: as in ``BaseHead``.
        init_cfg, with_cp: as in ``BaseHead``.
    """

    # seg_logits: also predict ``seg_logits`` (classes, H, W), held whole. seg_probs: also predict ``seg_probs``
    # (classes, H, W) float16, the probabilities of the classes, of which each pixel's add up to 1.
    test_options: ClassVar[Config] = {'seg_logits': False, 'seg_probs': False}

    def __init__(self,
                 in_channels: int,
                 deconv_out_channels: Sequence[int] = (512, 256, 128, 64),
                 deconv_kernel_sizes: Sequence[int] = (4, 4, 4, 4),
                 conv_out_channels: Sequence[int] = (64, 64),
                 conv_kernel_sizes: Sequence[int] = (1, 1),
                 num_classes: int = 29,
                 loss_decode: Optional[LossConfig] = None,
                 init_cfg: Optional[Config] = None,
                 with_cp: bool = False) -> None:
        super().__init__(in_channels, loss_decode, init_cfg, with_cp)
        self.num_classes = num_classes
        self.deconv_layers = deconvs(in_channels, deconv_out_channels, deconv_kernel_sizes, with_cp=with_cp)
        width = (in_channels, *deconv_out_channels)[-1]
        self.conv_layers = convs(width, conv_out_channels, conv_kernel_sizes, with_cp=with_cp)
        self.conv_seg = nn.Conv2d((width, *conv_out_channels)[-1], num_classes, kernel_size=1)

    def forward(self, feats: Sequence[Tensor]) -> Tensor:
        """Feature maps, the last of (B, C, h, w), to logits (B, classes, H, W) with H = h * 2 ** deconvolutions."""
        return last_layer(self.conv_seg, self.conv_layers(self.deconv_layers(self.features(feats))))

    def target_getters(self, output: Tensor, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        size = tuple(output.shape[2:])
        return {
            'pred': output.float,
            'target': lambda: self.stack(data_samples, 'sem_seg', size, output, torch.int64),
        }

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        options = {**self.test_options, **options}
        probabilities = {'seg_probs': softmax_resized(maps, size)} if options['seg_probs'] else {}
        if options['seg_logits']:
            logits = resize(maps, size)
            return {'sem_seg': logits.argmax(dim=0), 'seg_logits': logits, **probabilities}
        return {'sem_seg': argmax_resized(maps, size), **probabilities}


def argmax_resized(logits: Tensor, size: tuple[int, int], band_values: int = BAND_VALUES) -> Tensor:
    """Class of each pixel, (H, W) int64, of (classes, h, w) logits resized to ``size`` (H, W) band by band."""
    labels = torch.empty(size, dtype=torch.int64, device=logits.device)
    for rows, band in resize_bands(logits, size, band_values):
        labels[rows] = band.max(dim=0).indices  # faster than argmax on a CPU
    return labels


def softmax_resized(logits: Tensor, size: tuple[int, int], band_values: int = BAND_VALUES) -> Tensor:
    """Probabilities, (classes, H, W) float16, of (classes, h, w) logits resized to ``size`` (H, W) band by band."""
    probabilities = torch.empty((len(logits), *size), dtype=torch.float16, device=logits.device)
    for rows, band in resize_bands(logits, size, band_values):
        probabilities[:, rows] = band.softmax(dim=0).half()
    return probabilities
