"""Samples of people with their predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from mmengine.structures import InstanceData

from sapiens2.datasets.errors import DataError, Fault, Kind
from sapiens2.evaluation.predictions.conventions import CONVENTIONS
from sapiens2.evaluation.predictions.files import check_missing, image_stems, match_files, task_folder
from sapiens2.evaluation.predictions.people import (People, assign, none, read_document, read_results, take_people,
                                                    to_points_of)
from sapiens2.structures import DataSample


class Options(Protocol):
    """Of ``PredictionOptions``, what is used here."""

    convention: str
    missing: str


def pose_samples(dataset: Any, path: Path, cfg: Any, options: Options, counts: dict[str, int],
                 follow: Callable[[Iterable[int], int], Iterable[int]]) -> Iterator[DataSample]:
    """Samples with ``pred_instances``; ``counts`` is filled.

    Each annotated person gets the predicted one whose box overlaps its own most, see ``assign``; predicted people that
    are left over come after that of the image's last annotated person, as false positives. Where the data set gives
    boxes alone, the people of an image come with its first sample. A point that the prediction lacks is not measured.
    """
    count = len(dataset.metainfo['keypoint_names'])
    stems = image_stems(dataset)
    of_image: dict[str, list[int]] = {}
    images: dict[str, Any] = {}
    for index in range(len(dataset)):
        info = dataset.get_data_info(index)
        of_image.setdefault(info['img_path'], []).append(index)
        images[info['img_path']] = info['img_id']
    found = _read(path, options, images, stems, counts)
    counts |= {'people': sum(len(people.points) for people in found.values()), 'keypoints': 0}
    for number in follow(range(len(of_image)), len(of_image)):
        image = list(of_image)[number]
        if image not in found:
            continue
        try:
            people, has = to_points_of(found[image], count)
        except ValueError as error:
            raise DataError(Fault(Kind.WRONG_COUNT, image, str(error), 'keypoints', 'predict 308 points, or the 17 of '
                                  'COCO, or the 133 of COCO-WholeBody')) from error
        counts['keypoints'] = max(counts['keypoints'], int(has.sum()))
        counts['images'] += 1
        yield from _samples([dataset[index]['data_samples'] for index in of_image[image]], people, has)


def _read(path: Path, options: Options, images: dict[str, Any], stems: dict[str, str],
          counts: dict[str, int]) -> dict[str, People]:
    """People by image; an image in which nobody was found has nobody, one without prediction is missing."""
    if path.is_file():
        found = read_results(str(path), images, stems)
        if not found:
            return {image: none(17) for image in images}
        points = next(iter(found.values())).points.shape[1]
        # A results file names people, not images: in an image without people nobody was found.
        return {image: found.get(image, none(points)) for image in images}
    folder, convention = task_folder(path, 'pose'), CONVENTIONS[options.convention]
    files = match_files(folder, convention, 'pose', stems)
    check_missing([image for image, file in files.items() if file is None], len(files), folder,
                  convention.endings['pose'], options.missing, counts)
    return {image: read_document(file) for image, file in files.items() if file is not None}


def _samples(samples: list[DataSample], people: People, has: np.ndarray) -> Iterator[DataSample]:
    if not all('keypoints' in sample.gt_instances for sample in samples):
        shares = [range(len(people.points)), *([()] * (len(samples) - 1))]
    else:
        true = np.concatenate([sample.gt_instances.bboxes.numpy() for sample in samples]).astype(np.float64)
        pairs = assign(people.boxes, true)
        shares = [[pairs[index]] if index in pairs else [] for index in range(len(samples))]
        shares[-1] = [*shares[-1], *sorted(set(range(len(people.points))) - set(pairs.values()))]
    for sample, share in zip(samples, shares):
        if 'keypoints_visible' in sample.gt_instances:
            seen = sample.gt_instances.keypoints_visible
            sample.gt_instances.keypoints_visible = seen * torch.from_numpy(has).to(seen.dtype)
        chosen = take_people(people, share)
        sample.pred_instances = InstanceData(
            keypoints=torch.from_numpy(chosen.points[..., :2]), keypoint_scores=torch.from_numpy(chosen.points[..., 2]),
            bboxes=torch.from_numpy(chosen.boxes), bbox_scores=torch.from_numpy(chosen.scores))
        yield sample
