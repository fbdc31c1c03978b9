"""Point maps: where each pixel's surface lies, in metres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

from torch import Tensor, nn

from sapiens2.models.heads.base_head import Config, LossConfig
from sapiens2.models.heads.dense_head import UpsampleHead
from sapiens2.models.heads.resize import resize
from sapiens2.models.layers.decoder import convs
from sapiens2.registry import MODELS
from sapiens2.structures import DataSample

# A smaller predicted scale, a focal length above a thousand times the canonical one, is taken for this one.
MIN_SCALE = 1e-3


@MODELS.register_module()
class PointmapHead(UpsampleHead):
    """X, Y, Z of each pixel in a canonical camera, and the scale that leads from it to metres.

    From one image alone, a person twice as far through a lens twice as long looks the same. So the network gives the
    point map that a camera of the canonical focal length f_c would need, ``pointmap = scale * metric``, and apart from
    it ``scale = f_c / f_x``, where f_x is the focal length of the network input in pixels (Yin et al., Metric3D,
    arXiv 2307.10984, make depth canonical in this way).

    What losses compare: ``pred`` and ``target`` are both canonical, (B, 3, H, W), the target being the metric point
    map of the sample times its true scale. A point map projects through the same intrinsics ``K`` (B, 3, 3) of the
    network input whatever its scale, and its normals do not depend on the scale either, so losses on either need no
    conversion. ``scale`` is the predicted, ``target_scale`` the true scale, both (B, 1): dividing ``pred`` and
    ``target`` by the same one of them gives metres. ``mask`` is (B, 1, H, W). The true scale is taken from ``K`` where
    the sample has it, else from ``gt_fields.scale``.

    Predicts ``pointmap`` (3, H, W), metres, camera frame (x right, y down, z forward), ``depth`` (1, H, W), its z,
    ``scale`` (1,), which refers to the network input, and ``focal`` (1,), the focal length f_x that this scale stands
    for, pixels of the source image.

    Args:
        in_channels: channels C of the feature map.
        scale_conv_out_channels: channels of the scale branch's convolutions, each of which halves the feature map.
        scale_conv_kernel_sizes: their kernel sizes.
        scale_final_layer: widths of the scale branch's perceptron; the first is the number of values left by the
            convolutions, which ties the branch to one image size, the last is 1.
        canonical_focal_length: f_c, pixels.
        loss_decode: as in ``BaseHead``. The scale branch is trained only if one of the losses looks at the scale.
        init_cfg: as in ``BaseHead``.
        trunk: the other arguments of ``UpsampleHead``.
    """

    field = 'pointmap'

    def __init__(self,
                 in_channels: int,
                 scale_conv_out_channels: Sequence[int] = (1536, 512, 128),
                 scale_conv_kernel_sizes: Sequence[int] = (1, 1, 1),
                 scale_final_layer: Sequence[int] = (6144, 512, 128, 1),
                 canonical_focal_length: float = 768.0,
                 loss_decode: Optional[LossConfig] = None,
                 init_cfg: Optional[Config] = None,
                 **trunk: Any) -> None:
        super().__init__(in_channels, loss_decode=loss_decode, init_cfg=init_cfg, **trunk)
        if scale_final_layer[-1] != 1:
            raise ValueError(f'scale_final_layer must end in 1, the scale, got {tuple(scale_final_layer)}')
        self.canonical_focal_length = canonical_focal_length
        self.scale_conv_layers = convs(in_channels, scale_conv_out_channels, scale_conv_kernel_sizes, stride=2)
        layers: list[nn.Module] = [nn.Flatten()]
        for width, next_width in zip(scale_final_layer, scale_final_layer[1:]):
            layers += [nn.Linear(width, next_width), nn.SiLU(inplace=True)]
        self.scale_final_layer = nn.Sequential(*layers[:-1])
        if len(self.loss_decode) and not any('scale' in loss.inputs for loss in self.loss_decode):
            # Without a loss the branch has no gradient, for which distributed training would wait in vain.
            self.scale_conv_layers.requires_grad_(False)
            self.scale_final_layer.requires_grad_(False)

    def forward(self, feats: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Feature maps, the last of (B, C, h, w), to a canonical point map (B, 3, H, W) and a scale (B, 1).

        Raises:
            ValueError: if the feature map's size is not the one that ``scale_final_layer`` was chosen for, or is so
                small that the scale branch would normalise single values, which makes them zero.
        """
        x = self.features(feats)
        self._check_size(*x.shape[2:])
        return super().forward(feats), self.scale_final_layer(self.scale_conv_layers(x))

    def _check_size(self, height: int, width: int) -> None:
        channels, expected = self.scale_conv_layers[-3].out_channels, self.scale_final_layer[1].in_features
        rows, columns = height, width
        for _ in range(len(self.scale_conv_layers) // 3):
            rows, columns = (rows + 1) // 2, (columns + 1) // 2
        if rows * columns == 1:
            raise ValueError(f'the scale branch of PointmapHead turns a feature map of (h, w) = ({height}, {width}) '
                             f'into one cell, over which nothing can be normalised: use a larger image, or shorten '
                             f'scale_conv_out_channels')
        if channels * rows * columns != expected:
            raise ValueError(f'the scale branch of PointmapHead turns a feature map of (h, w) = ({height}, {width}) '
                             f'into {channels} x {rows} x {columns} values, and scale_final_layer takes {expected}: '
                             f'use the image size it was made for (1024x768 as released), or set its first entry to '
                             f'{channels * rows * columns} and train it')

    def target_getters(self, output: tuple[Tensor, Tensor],
                       data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        pred, scale = output
        getters = super().target_getters(pred, data_samples)
        metric = getters['target']
        return {
            **getters,
            'target': lambda: metric() * self._true_scale(data_samples, pred)[..., None, None],
            'scale': scale.float,
            'target_scale': lambda: self._true_scale(data_samples, pred),
            'K': lambda: self.stack(data_samples, 'K', (3, 3), pred),
        }

    def _true_scale(self, data_samples: Sequence[DataSample], like: Tensor) -> Tensor:
        """Canonical focal length over f_x, (B, 1)."""
        if all('gt_fields' in sample and 'K' in sample.gt_fields for sample in data_samples):
            return self.canonical_focal_length / self.stack(data_samples, 'K', (3, 3), like)[:, :1, 0]
        return self.stack(data_samples, 'scale', (1,), like)

    def postprocess(self, maps: Tensor, size: tuple[int, int], *others: Tensor, **options: Any) -> dict[str, Tensor]:
        scale, = others
        used = scale.clamp(min=MIN_SCALE)
        pointmap = resize(maps / used[:, None, None], size)
        focal = self.canonical_focal_length / used * (size[1] / maps.shape[2])
        return {'pointmap': pointmap, 'depth': pointmap[2:], 'scale': scale, 'focal': focal}
