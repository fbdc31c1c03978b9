"""Pictures of what a network is given, what it should say and what it says, from time to time during training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.visualization import LocalVisBackend
from torch import Tensor, nn

from sapiens2.registry import HOOKS
from sapiens2.structures import DataSample
from sapiens2.structures.names import sample_name
from sapiens2.utils.image_io import write_image
from sapiens2.visualization import draw_field, draw_people
from sapiens2.visualization.layout import beside, contact_sheet, fit_square
from sapiens2.visualization.maps import depth_bar, depth_range, depth_to_bgr
from sapiens2.visualization.pictures import DRAWABLE_FIELDS, at_size_of, drawable, raster_size


@HOOKS.register_module()
class SamplePicturesHook(Hook):
    """Draws input, target and prediction of the first samples of a training batch side by side.

    The samples are drawn as the network saw them, augmentation included, and predicted once more in evaluation mode.
    Files go to ``vis/`` in the work directory, and the same pictures to TensorBoard and other backends. Nothing that is
    random in training is touched.

    Args:
        interval: iterations between pictures; the first and the last iteration of the run get some, too.
        samples: at most so many samples a picture.
        score_thr: key points whose heat map peaks lower are not drawn.
        tile: pixels of the longer side of a picture of one sample.
    """

    priority = 'LOW'

    def __init__(self, interval: int = 500, samples: int = 2, score_thr: float = 0.1, tile: int = 480) -> None:
        if interval < 1 or samples < 1 or tile < 16:
            raise ValueError('custom_hooks: interval and samples of SamplePicturesHook must be at least 1 and tile at '
                             f'least 16, got {interval}, {samples} and {tile}')
        self.interval, self.samples, self.score_thr, self.tile = interval, samples, score_thr, tile

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Optional[Mapping[str, Any]] = None,
                         outputs: Optional[Mapping[str, Tensor]] = None) -> None:
        """Draw, if it is time. All processes do, since one may need the others' parts of the model; one writes."""
        is_end = batch_idx in (0, runner.max_iters - 1)
        if not (is_end or self.every_n_inner_iters(batch_idx, self.interval)):
            return
        if not (runner.strategy.all_write or is_main_process()):
            return
        picture = self.draw(runner, data_batch, f'training, iteration {batch_idx + 1}')
        if not is_main_process():
            return
        write_image(Path(runner.work_dir) / 'vis' / f'iter_{batch_idx + 1:06d}.jpg', picture)
        rgb = np.ascontiguousarray(picture[..., ::-1])
        for backend in runner.visualizer._vis_backends.values():
            if not isinstance(backend, LocalVisBackend):  # it would write the same file again, elsewhere
                backend.add_image('training samples', rgb, batch_idx + 1)

    def draw(self, runner: Runner, batch: Mapping[str, Any], title: str) -> np.ndarray:
        """A BGR sheet with one row a sample: input, target, prediction."""
        inputs = [image for image in batch['inputs'][:self.samples]]
        samples = [_in_input_frame(sample, image) for sample, image in zip(batch['data_samples'], inputs)]
        model = runner.bare_model.eval()
        with torch.no_grad():
            predicted = model.val_step(dict(inputs=inputs, data_samples=samples))
        meta = getattr(runner.train_dataloader.dataset, 'metainfo', None)
        tiles = []
        for index, (image, sample) in enumerate(zip(inputs, predicted)):
            bgr = np.ascontiguousarray(image.permute(1, 2, 0).cpu().numpy())
            target, prediction = self._pair(model, bgr, sample, meta)
            name = Path(sample_name(sample, index)).name
            tiles += [(name, bgr), ('target', target), ('prediction', prediction)]
        return contact_sheet(tiles, columns=3, tile=self.tile, title=title)

    def _pair(self, model: nn.Module, image: np.ndarray, sample: DataSample,
              meta: Optional[Mapping[str, Any]]) -> list[np.ndarray]:
        """Target and prediction drawn alike."""
        if 'pred_instances' in sample:
            points, scores = model.decode_head.decode(sample.gt_fields.heatmaps[None], [sample])
            found = sample.pred_instances
            people = [(points, scores), (found.keypoints, found.keypoint_scores)]
            # Drawn at the size that is shown: points and lines would be blurred, or vanish, in a picture resized later.
            shown = fit_square(image, self.tile)
            ratio = np.divide(shown.shape[1::-1], image.shape[1::-1])
            return [draw_people(shown, {'keypoints': (_array(xy) + 0.5) * ratio - 0.5,
                                        'keypoint_scores': _array(peaks)}, self.score_thr) for xy, peaks in people]
        field = next(name for name in DRAWABLE_FIELDS if name in sample.gt_fields and name in sample.pred_fields)
        values = [drawable(fields, field, sample.gt_fields.get('mask'))
                  for fields in (sample.gt_fields, sample.pred_fields)]
        if field in ('depth', 'pointmap'):
            return self._depths(*(value[..., 2] if field == 'pointmap' else value for value in values))
        image = at_size_of(sample.gt_fields, image)
        return [draw_field(field, image, value, False, meta) for value in values]

    def _depths(self, target: np.ndarray, prediction: np.ndarray) -> list[np.ndarray]:
        """Pictures of (H, W) metres, 0 outside the mask: the same colours for the same depths, with their scale.

        What is predicted to lie behind the camera has the colour of what is nearest: black is outside the mask.
        """
        near, far = depth_range(target)
        pictures = [fit_square(depth_to_bgr(np.where(depth < 0, near, depth), near, far), self.tile)
                    for depth in (target, prediction)]
        return [beside([picture, depth_bar(near, far, len(picture))]) for picture in pictures]


def _in_input_frame(sample: DataSample, image: Tensor) -> DataSample:
    """A copy whose prediction has the size of its targets, and the frame of the network input, (C, H, W) ``image``."""
    height, width = (int(side) for side in image.shape[-2:])
    known = DataSample(metainfo={
        **sample.metainfo, 'ori_shape': raster_size(sample.gt_fields) or (height, width), 'padding': (0, 0, 0, 0),
        'input_center': ((width - 1) / 2, (height - 1) / 2), 'input_scale': (width - 1.0, height - 1.0)})
    known.gt_fields = sample.gt_fields
    return known


def _array(value: Tensor) -> np.ndarray:
    return value.detach().float().cpu().numpy()
