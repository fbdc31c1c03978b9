"""Top-down key points from heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from mmengine.structures import InstanceData
from torch import Tensor, nn

from sapiens2.codecs import UDPHeatmap
from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.models.heads.base_head import BaseHead, Config, LossConfig, stack_meta
from sapiens2.models.layers.decoder import convs, deconvs
from sapiens2.models.layers.decoder_chunks import last_layer
from sapiens2.registry import CODECS, MODELS, build_from
from sapiens2.structures import DataSample


@MODELS.register_module()
class PoseHeatmapHead(BaseHead):
    """Deconvolutions, 1x1 convolutions, one heat map a key point.

    Losses may ask for ``pred`` and ``target`` (B, K, h, w), ``weights`` (B, K) and ``names``. Predicts
    ``pred_instances`` with ``keypoints`` (1, K, 2), pixels of the source image, and ``keypoint_scores`` (1, K), the
    peaks of the heat maps; ``bboxes`` and ``bbox_scores`` are those of ``gt_instances``.

    Args:
        in_channels: channels C of the feature map.
        out_channels: key points K.
        deconv_out_channels: channels after each doubling.
        deconv_kernel_sizes: their kernel sizes, cells.
        conv_out_channels: channels of the convolutions on the heat maps' size.
        conv_kernel_sizes: their kernel sizes, cells.
        codec: decodes the heat maps, the one that encoded them. Default: ``UDPHeatmap`` with its default smoothing.
        metainfo: name of the table of key points, or a dictionary, whose ``flip_indices`` say which key point each one
            becomes in a mirrored image. None: flip test is not possible.
        loss_decode: as in ``BaseHead``.
        init_cfg, with_cp: as in ``BaseHead``.
    """

    def __init__(self,
                 in_channels: int,
                 out_channels: int = 308,
                 deconv_out_channels: Sequence[int] = (1024, 768),
                 deconv_kernel_sizes: Sequence[int] = (4, 4),
                 conv_out_channels: Sequence[int] = (512, 512, 256),
                 conv_kernel_sizes: Sequence[int] = (1, 1, 1),
                 codec: Union[Config, UDPHeatmap, None] = None,
                 metainfo: Union[str, Mapping[str, Any], None] = 'sapiens308',
                 loss_decode: Optional[LossConfig] = None,
                 init_cfg: Optional[Config] = None,
                 with_cp: bool = False) -> None:
        super().__init__(in_channels, loss_decode, init_cfg, with_cp)
        self.deconv_layers = deconvs(in_channels, deconv_out_channels, deconv_kernel_sizes, with_cp=with_cp)
        width = (in_channels, *deconv_out_channels)[-1]
        self.conv_layers = convs(width, conv_out_channels, conv_kernel_sizes, with_cp=with_cp)
        self.conv_pose = nn.Conv2d((width, *conv_out_channels)[-1], out_channels, kernel_size=1)
        self.codec: Optional[UDPHeatmap] = build_from(CODECS, codec) if codec is not None else None
        self.flip_indices = _flip_indices(metainfo, out_channels)

    def forward(self, feats: Sequence[Tensor]) -> Tensor:
        """Feature maps, the last of (B, C, h, w), to heat maps (B, K, h * 2 ** deconvolutions, ...)."""
        return last_layer(self.conv_pose, self.conv_layers(self.deconv_layers(self.features(feats))))

    def target_getters(self, output: Tensor, data_samples: Sequence[DataSample]) -> dict[str, Callable[[], Tensor]]:
        shape = tuple(output.shape[1:])
        return {
            'pred': output.float,
            'target': lambda: self.stack(data_samples, 'heatmaps', shape, output),
            'weights': lambda: self.stack(data_samples, 'keypoint_weights', shape[:1], output),
        }

    def predictions(self, output: Tensor, data_samples: Sequence[DataSample], **options: Any) -> list[DataSample]:
        """Set ``pred_instances`` of each sample and return the samples.

        Args:
            output: heat maps (B, K, h, w).
            data_samples: know ``input_center`` and ``input_scale``.
            options: none.

        Raises:
            ValueError: if a sample does not know where its crop lies.
        """
        for sample, points, point_scores in zip(data_samples, *self.decode(output.float(), data_samples)):
            instances = InstanceData(keypoints=points[None], keypoint_scores=point_scores[None])
            for box in ('bboxes', 'bbox_scores'):
                if 'gt_instances' in sample and box in sample.gt_instances:
                    instances.set_field(sample.gt_instances.get(box), box)
            sample.pred_instances = instances
        return list(data_samples)

    def decode(self, heatmaps: Tensor, data_samples: Sequence[DataSample]) -> tuple[Tensor, Tensor]:
        """Key points (B, K, 2) x, y, pixels of the source images, and their scores (B, K), of heat maps (B, K, h, w).

        Raises:
            ValueError: if a sample does not know where its crop lies (``input_center`` and ``input_scale``).
        """
        center = stack_meta(data_samples, 'input_center', heatmaps)
        scale = stack_meta(data_samples, 'input_scale', heatmaps)
        heatmap_size = (heatmaps.shape[3], heatmaps.shape[2])
        # The size of the network input plays no part in the way back to the source image.
        codec = self.codec or UDPHeatmap(input_size=heatmap_size, heatmap_size=heatmap_size)
        return codec.decode_to_image(heatmaps, center, scale)

    def unmirror(self, heatmaps: Tensor) -> Tensor:
        """Heat maps (B, K, h, w) of mirrored images as they would be of the images themselves.

        Raises:
            ValueError: if the head has no ``metainfo``.
        """
        if self.flip_indices is None:
            raise ValueError('flip test needs to know left from right: set metainfo of PoseHeatmapHead, or turn off '
                             'flip_test in test_cfg')
        return heatmaps.flip(-1)[:, self.flip_indices]


def _flip_indices(metainfo: Union[str, Mapping[str, Any], None], num_keypoints: int) -> Optional[list[int]]:
    """Index of each key point's mirror image.

    Raises:
        ValueError: if the table is of another number of key points.
    """
    if metainfo is None:
        return None
    table = load_metainfo(metainfo) if isinstance(metainfo, str) else metainfo
    indices = list(table['flip_indices'])
    if len(indices) != num_keypoints:
        raise ValueError(f'out_channels of PoseHeatmapHead is {num_keypoints}, but its metainfo '
                         f'{metainfo if isinstance(metainfo, str) else ""!r} is of {len(indices)} key points: set '
                         f'metainfo to the table of the key points that are predicted')
    return indices
