"""What a predictor reaches that never looks at the picture, measured as a network is.

It answers with the average of the training set: the most frequent class, the mean normal, a wall at the mean depth, the
mean colour, the mean pose in each person's box. A network that is not better has learnt nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol

import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import BaseDataElement, InstanceData
from torch import Tensor

from sapiens2.registry import DATASETS, register_all
from sapiens2.structures import DataSample
from sapiens2.utils.pinhole import unproject
from sapiens2.utils.tasks import task_of

# Wraps an iterable, for progress: (samples, how many) -> the samples.
Follow = Callable[[Iterable[Any], int], Iterable[Any]]


class Average(Protocol):
    """A predictor that is fitted by one pass over the training samples."""

    # What it says, for people.
    says: ClassVar[str]

    def add(self, sample: DataSample) -> None:
        """Take the ground truth of a training sample into the average."""

    def predict(self, sample: DataSample) -> None:
        """Set the prediction of ``sample``, at the size of its source image."""


class MostFrequentClass:
    """One class everywhere."""

    says = 'the most frequent class everywhere'

    def __init__(self) -> None:
        self.counts = torch.zeros(256, dtype=torch.int64)

    def add(self, sample: DataSample) -> None:
        self.counts += torch.bincount(sample.eval_fields.sem_seg.flatten(), minlength=256)

    def predict(self, sample: DataSample) -> None:
        # 255 is no class.
        label = int(self.counts[:255].argmax())
        sample.pred_fields = BaseDataElement(sem_seg=torch.full_like(sample.eval_fields.sem_seg, label))


class _MeanOfPeople:
    """The mean of a field of three channels over the pixels of people, everywhere."""

    field: ClassVar[str]

    def __init__(self) -> None:
        self.total = torch.zeros(3, dtype=torch.float64)
        self.pixels = 0

    def add(self, sample: DataSample) -> None:
        values = _on_people(sample, self.field)
        self.total += values.double().sum(1)
        self.pixels += values.shape[1]

    def mean(self) -> Tensor:
        """(3,) float32."""
        return (self.total / max(self.pixels, 1)).float()

    def predict(self, sample: DataSample) -> None:
        shape = sample.eval_fields.get(self.field).shape
        sample.pred_fields = BaseDataElement(**{self.field: self.mean()[:, None, None].expand(shape)})


class MeanNormal(_MeanOfPeople):
    """The mean normal, a unit vector."""

    says = 'the mean normal everywhere'
    field = 'normal'

    def mean(self) -> Tensor:
        return torch.nn.functional.normalize(super().mean(), dim=0)


class MeanColour(_MeanOfPeople):
    """The mean albedo, RGB in [0, 1]."""

    says = 'the mean colour everywhere'
    field = 'albedo'


class MeanDepth:
    """A wall parallel to the picture at the mean depth of people, metres, before the mean camera of the set."""

    says = 'a wall at the mean depth, seen through the mean camera'

    def __init__(self) -> None:
        self.depth, self.pixels = 0.0, 0
        self.camera, self.pictures = torch.zeros(3, 3, dtype=torch.float64), 0

    def add(self, sample: DataSample) -> None:
        depths = _on_people(sample, 'pointmap')[2]
        self.depth += float(depths.double().sum())
        self.pixels += len(depths)
        self.camera += _resized(sample.eval_fields.K.double(), sample.ori_shape, (1, 1))
        self.pictures += 1

    def predict(self, sample: DataSample) -> None:
        height, width = sample.ori_shape
        depth = torch.full((height, width), self.depth / max(self.pixels, 1))
        camera = _resized(self.camera / max(self.pictures, 1), (1, 1), sample.ori_shape)
        points = torch.from_numpy(unproject(depth.numpy(), camera.numpy()))
        sample.pred_fields = BaseDataElement(pointmap=points.permute(2, 0, 1).contiguous())


class MeanPose:
    """Each key point at its mean place in the person's box."""

    says = 'each point at its mean place in the box'

    def __init__(self) -> None:
        self.total, self.people = torch.zeros(0), torch.zeros(0)

    def add(self, sample: DataSample) -> None:
        truth = sample.gt_instances
        origin, size = _corner_and_size(truth.bboxes)
        seen = (truth.keypoints_visible[0] > 0).double()
        places = (truth.keypoints[0].double() - origin) / size
        if not len(self.people):
            self.total, self.people = torch.zeros_like(places), torch.zeros_like(seen)
        self.total += places * seen[:, None]
        self.people += seen

    def predict(self, sample: DataSample) -> None:
        truth = sample.gt_instances
        origin, size = _corner_and_size(truth.bboxes)
        # A point that no training sample shows is put in the middle.
        places = torch.where(self.people[:, None] > 0, self.total / self.people.clamp(min=1)[:, None], 0.5)
        sample.pred_instances = InstanceData(
            keypoints=(origin + places * size).float()[None], keypoint_scores=torch.ones(1, len(places)),
            bboxes=truth.bboxes, bbox_scores=truth.bbox_scores)


AVERAGES: dict[str, type[Average]] = {
    'pose': MeanPose, 'seg': MostFrequentClass, 'normal': MeanNormal, 'pointmap': MeanDepth, 'albedo': MeanColour}


def trivial_scores(cfg: Mapping[str, Any], follow: Follow = lambda samples, count: samples) -> dict[str, float]:
    """Fit the predictor of the config's task on its training data, and measure it on its test data with its metrics.

    Args:
        cfg: a config of any task; its test pipeline reads ground truth at the size of the source image.
        follow: sees the samples pass by, for progress.

    Returns:
        The figures by name, as ``sapiens2 test`` gives them.

    Raises:
        ValueError: if the config is of no task.
        DataError, ImageReadError: of the data.
    """
    register_all()
    average = AVERAGES[task_of(cfg)]()
    test = cfg['test_dataloader']['dataset']
    train = DATASETS.build({**cfg['train_dataloader']['dataset'], 'pipeline': test['pipeline'], 'test_mode': True})
    for index in follow(range(len(train)), len(train)):
        average.add(train[index]['data_samples'])
    held_out = DATASETS.build(test)
    evaluator = Evaluator(cfg['test_evaluator'])
    evaluator.dataset_meta = held_out.metainfo
    for index in follow(range(len(held_out)), len(held_out)):
        sample = held_out[index]['data_samples']
        average.predict(sample)
        evaluator.process([sample])
    return evaluator.evaluate(len(held_out))


def _on_people(sample: DataSample, field: str) -> Tensor:
    """Values (C, P) of ``eval_fields`` at the P pixels of people."""
    return sample.eval_fields.get(field)[:, sample.eval_fields.mask[0].bool()]


def _resized(intrinsics: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """(3, 3) intrinsics of a picture of ``old`` (H, W) pixels for the same picture of ``new`` (H, W) pixels.

    Pixel centres are at integers, so the left edge is at -0.5.
    """
    (old_height, old_width), (new_height, new_width) = old[:2], new[:2]
    x, y = new_width / old_width, new_height / old_height
    change = torch.tensor([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2], [0, 0, 1]], dtype=torch.float64)
    return change @ intrinsics


def _corner_and_size(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Upper left corner and size, both (2,) float64, of the one box (1, 4) x1, y1, x2, y2."""
    box = boxes[0].double()
    return box[:2], box[2:] - box[:2]
