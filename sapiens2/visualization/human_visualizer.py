"""MMEngine's visualizer for all five tasks."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import torch
from mmengine.structures import BaseDataElement, InstanceData
from mmengine.visualization import Visualizer

from sapiens2.registry import VISUALIZERS
from sapiens2.structures import DataSample
from sapiens2.utils.image_io import write_image
from sapiens2.visualization.layout import beside
from sapiens2.visualization.pictures import DRAWABLE_FIELDS, channels_last, draw_field, draw_people


def _array(value: Any) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def _people(instances: InstanceData) -> dict[str, np.ndarray]:
    """Predictions have scores; of the ground truth, what is labelled counts as certain."""
    scores = instances.get('keypoint_scores', instances.get('keypoints_visible'))
    people = {'keypoints': _array(instances.keypoints), 'keypoint_scores': _array(scores)}
    if 'bboxes' in instances:
        people['bboxes'] = _array(instances.bboxes)
    return people


@VISUALIZERS.register_module()
class HumanVisualizer(Visualizer):
    """Shows the image, then what is known of it, then what is predicted, in one row.

    Args:
        score_thr: key points with a lower score are not drawn.
        legend: name the classes and depths beside the pictures.
        kwargs: of MMEngine's ``Visualizer``.
    """

    def __init__(self, name: str = 'visualizer', score_thr: float = 0.3, legend: bool = True, **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.score_thr = score_thr
        self.legend = legend

    def _pictures(
            self, image: np.ndarray, instances: Optional[InstanceData],
            fields: Optional[BaseDataElement]) -> list[np.ndarray]:
        meta = self.dataset_meta
        pictures = []
        if instances is not None and 'keypoints' in instances:
            pictures.append(draw_people(image, _people(instances), self.score_thr, meta))
        if fields is not None:
            pictures += [draw_field(name, image, channels_last(_array(fields.get(name))), self.legend, meta)
                         for name in DRAWABLE_FIELDS if name in fields]
        return pictures

    def add_datasample(
            self, name: str, image: np.ndarray, data_sample: Optional[DataSample] = None, draw_gt: bool = True,
            draw_pred: bool = True, show: bool = False, wait_time: float = 0, out_file: Optional[str] = None,
            step: int = 0) -> None:
        """Draw one sample, and hand the picture to the backends.

        Args:
            name: of the picture in the backends.
            image: (H, W, 3) uint8 RGB source image, as MMEngine has it.
            data_sample: its ground truth is drawn from ``gt_instances`` and ``eval_fields``, which have the size of
                the source image, the prediction from ``pred_instances`` and ``pred_fields``.
            show: open a window and wait ``wait_time`` seconds, 0 for a key.
            out_file: also write the picture here.
            step: of the training.
        """
        bgr = np.ascontiguousarray(image[..., ::-1])
        pictures = [bgr]
        if data_sample is not None and draw_gt:
            pictures += self._pictures(bgr, data_sample.get('gt_instances'), data_sample.get('eval_fields'))
        if data_sample is not None and draw_pred:
            pictures += self._pictures(bgr, data_sample.get('pred_instances'), data_sample.get('pred_fields'))
        drawn = beside(pictures, gap=max(2, bgr.shape[1] // 100))
        if out_file is not None:
            write_image(out_file, drawn)
        rgb = np.ascontiguousarray(drawn[..., ::-1])
        if show:
            self.show(rgb, win_name=name, wait_time=wait_time)
        self.add_image(name, rgb, step)
