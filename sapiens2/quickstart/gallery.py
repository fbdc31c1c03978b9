"""Pictures of held-out people and of a photograph: what the network is given, what is true, what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np
from mmengine.config import Config

from sapiens2.apis import Sapiens2Inferencer
from sapiens2.apis.outputs import FIELD_OF_TASK
from sapiens2.registry import DATASETS, register_all
from sapiens2.structures import DataSample
from sapiens2.utils.image_io import read_image
from sapiens2.visualization import draw_field, draw_people
from sapiens2.visualization.maps import depth_range, depth_to_bgr
from sapiens2.visualization.pictures import channels_last

# A row: its name, and the picture, the truth (or why there is none) and the prediction, (H, W, 3) uint8 BGR.
Row = tuple[str, Sequence[Union[np.ndarray, str]]]
# Key points whose heat maps peak lower are not drawn; after short training all peaks are low.
SCORE_THR = 0.1
NO_TRUTH = 'no ground truth'


def gallery(task: str, cfg: Config, weights: Path, portrait: Path, count: int = 4) -> list[Row]:
    """A row for each of the first ``count`` pictures of the config's test data, and one for ``portrait``.

    On held-out pictures, fields other than labels are drawn on the true people alone: elsewhere nothing is trained.

    Raises:
        ValueError: naming a picture without result.
    """
    samples = _first_samples(cfg, count)
    inferencer = Sapiens2Inferencer(task, cfg, weights)
    is_pose = task == 'pose'
    boxes = dict(boxes=[np.concatenate([person.gt_instances.bboxes.numpy() for person in people])
                        for people in samples.values()]) if is_pose else {}
    rows: list[Row] = []
    for people, result in zip(samples.values(), inferencer([Path(path) for path in samples], **boxes)):
        image = read_image(_checked(result)['path'])
        rows.append((f'held out, {Path(result["path"]).stem}', _drawn(task, image, people, result)))
    result, = inferencer(portrait, **(dict(whole_image=True) if is_pose else {}))
    image = read_image(portrait)
    _checked(result)
    prediction = draw_people(image, result, SCORE_THR) if is_pose else draw_field(
        FIELD_OF_TASK[task], image, result[FIELD_OF_TASK[task]], legend=False)
    return [*rows, ('photograph', (image, NO_TRUTH, prediction))]


def _first_samples(cfg: Config, count: int) -> dict[str, list[DataSample]]:
    """The samples of the first ``count`` pictures of the test data, by path: several for pose, one a person."""
    register_all()
    dataset = DATASETS.build(cfg.test_dataloader.dataset)
    samples: dict[str, list[DataSample]] = {}
    for index in range(len(dataset)):
        sample = dataset[index]['data_samples']
        if sample.img_path not in samples and len(samples) == count:
            break
        samples.setdefault(sample.img_path, []).append(sample)
    return samples


def _checked(result: dict[str, Any]) -> dict[str, Any]:
    if result['error'] is not None:
        raise ValueError(result['error'])
    return result


def _drawn(task: str, image: np.ndarray, people: Sequence[DataSample], result: dict[str, Any]) -> list[np.ndarray]:
    """Picture, truth and prediction of one held-out picture."""
    if task == 'pose':
        instances = [person.gt_instances for person in people]
        truth = {'keypoints': np.concatenate([person.keypoints.numpy() for person in instances]),
                 'keypoint_scores': np.concatenate([person.keypoints_visible.numpy() for person in instances])}
        return [image, draw_people(image, truth), draw_people(image, result, SCORE_THR)]
    field, fields = FIELD_OF_TASK[task], people[0].eval_fields
    values = [channels_last(fields.get(field).numpy()), result[field]]
    if task == 'seg':
        return [image, *(draw_field(field, image, value.astype(np.uint8), legend=False) for value in values)]
    mask = channels_last(fields.mask.numpy())
    if task == 'pointmap':
        depths = [np.where(mask, value[..., 2], 0) for value in values]
        near, far = depth_range(depths[0])  # the same colours for the same depths
        return [image, *(depth_to_bgr(depth, near, far) for depth in depths)]
    return [image, *(np.where(mask[..., None], draw_field(field, image, value), 0) for value in values)]
