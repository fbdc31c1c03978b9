"""For configs of MMPose: the decoder of sapiens2 as a head, and data sets with its 308 key points."""

from __future__ import annotations

from typing import Any, Optional

from mmpose.datasets.datasets.base import BaseCocoStyleDataset
from mmpose.models.heads import HeatmapHead
from mmpose.registry import DATASETS, MODELS
from torch import Tensor

from sapiens2.datasets.metainfo import load_metainfo
from sapiens2.models.heads import PoseHeatmapHead


def mmpose_metainfo(name: str) -> dict[str, Any]:
    """The table of key points called ``name`` in the form that MMPose reads."""
    table = load_metainfo(name)
    names, upper, lower = table['keypoint_names'], set(table['upper_body_ids']), set(table['lower_body_ids'])
    points = zip(names, table['flip_indices'], table['keypoint_colors'])
    links = zip(table['skeleton_links'], table['skeleton_link_colors'])
    return {
        'dataset_name': name,
        'keypoint_info': {
            i: dict(name=point, id=i, color=color, swap='' if swap == i else names[swap],
                    type='upper' if i in upper else 'lower' if i in lower else '')
            for i, (point, swap, color) in enumerate(points)},
        'skeleton_info': {
            i: dict(link=tuple(names[end] for end in link), id=i, color=color)
            for i, (link, color) in enumerate(links)},
        'joint_weights': table['joint_weights'],
        'sigmas': table['sigmas'],
    }


@DATASETS.register_module()
class Sapiens308Dataset(BaseCocoStyleDataset):
    """People with 308 key points in a COCO JSON, such as ``sapiens2 synth`` writes; the arguments are its base's."""

    METAINFO = mmpose_metainfo('sapiens308')


@MODELS.register_module()
class Sapiens2PoseHead(HeatmapHead):
    """The layers of ``PoseHeatmapHead`` with targets, loss, decoding and flip test of MMPose.

    Args:
        in_channels: channels C of the last feature map.
        out_channels: key points K.
        loss, decoder: of MMPose.
        network: other arguments of ``PoseHeatmapHead``.
    """

    def __init__(self, in_channels: int, out_channels: int = 308, loss: Optional[dict] = None,
                 decoder: Optional[dict] = None, **network: Any) -> None:
        super().__init__(
            in_channels, out_channels, deconv_out_channels=None, conv_out_channels=None, final_layer=None,
            loss=loss or dict(type='KeypointMSELoss', use_target_weight=True), decoder=decoder)
        self.network = PoseHeatmapHead(in_channels, out_channels, metainfo=None, **network)

    def forward(self, feats: tuple[Tensor, ...]) -> Tensor:
        """Feature maps, the last of (B, C, h, w), to heat maps (B, K, ...)."""
        return self.network(feats)
