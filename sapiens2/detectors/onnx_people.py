"""People by an exported RTMDet or YOLOX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Optional, Union

import cv2
import numpy as np

from sapiens2.detectors.base import People, PersonDetector, people_inside
from sapiens2.detectors.nms import nms
from sapiens2.detectors.onnx_file import OnnxNetwork
from sapiens2.registry import DETECTORS
from sapiens2.utils.suggest import unknown_name

# What a network is given in an input whose size is free, pixels.
_SIDE = 640
_GREY = 114  # beside a picture of another shape, as both were trained
_STRIDES = (8, 16, 32)


@dataclass(frozen=True)
class Family:
    """What detectors of one kind expect: (B, G, R) values are ``(value - mean) / std``."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


FAMILIES = {
    'rtmdet': Family((103.53, 116.28, 123.675), (57.375, 57.12, 58.395)),  # as in MMDetection
    'yolox': Family((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),  # as in YOLOX since its version 0.1.1
}


@DETECTORS.register_module()
class OnnxPeople(PersonDetector):
    """An object detector in an ONNX file, with outputs of any of these layouts, N boxes of one picture.

    * (1, N, 5): x1, y1, x2, y2, score; with labels (1, N) if it knows several classes (MMDeploy).
    * (1, N, 4) boxes and (1, N) scores, with labels (1, N) and a number of boxes or without (MMYOLO's easydeploy).
    * (1, N, 4) boxes and (1, N, C) scores of C classes.
    * (1, N, 5 + C): centre, size, score, scores of classes, in cells of strides 8, 16, 32 (YOLOX as it exports).

    Args:
        weights: path of the file.
        family: 'rtmdet' or 'yolox', for the values of the input; None takes it from the name of the file.
        threshold: least score of a box.
        overlap: boxes that overlap a surer one by more are left out, see ``nms``; a file that has done so by itself
            does not mind.
        person: number of the class person; 0 in COCO and where people are the only class.
        decoded: for the last layout: whether centre and size are pixels already.
        threads: that one picture may use.
    """

    def __init__(self, weights: Union[str, PathLike[str]], family: Optional[str] = None, threshold: float = 0.5,
                 overlap: float = 0.65, person: int = 0, decoded: bool = False, threads: int = 1) -> None:
        self.weights, self.threshold, self.overlap = Path(weights), threshold, overlap
        self.person, self.decoded, self.threads = person, decoded, threads
        self.family = FAMILIES[_family_name(self.weights, family)]
        self._network: Optional[OnnxNetwork] = None

    def setup(self, device: str = 'cpu') -> None:
        if self._network is None:
            self._network = OnnxNetwork(self.weights, device, self.threads)

    def __call__(self, pictures: Sequence[np.ndarray]) -> list[People]:
        self.setup()
        return [self._people(picture) for picture in pictures]

    def _people(self, picture: np.ndarray) -> People:
        height, width = self._network.side(2, _SIDE), self._network.side(3, _SIDE)
        ratio = min(height / picture.shape[0], width / picture.shape[1])
        size = [max(1, int(side * ratio)) for side in picture.shape[1::-1]]
        canvas = np.full((height, width, 3), _GREY, dtype=np.float32)
        canvas[:size[1], :size[0]] = cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)
        canvas = (canvas - np.float32(self.family.mean)) / np.float32(self.family.std)
        outputs = self._network(canvas.transpose(2, 0, 1)[None])
        boxes, scores = self._read(outputs, (height, width))
        sure = scores >= self.threshold
        boxes, scores = boxes[sure] / ratio, scores[sure]
        kept = nms(boxes, scores, self.overlap)
        return people_inside(boxes[kept], scores[kept], picture.shape[:2])

    def _read(self, outputs: dict[str, np.ndarray], size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        """Boxes (N, 4) in pixels of the input, and scores (N,), of people."""
        values = [np.asarray(value) for value in outputs.values()]
        if any(len(value) != 1 for value in values if value.ndim):
            raise self._strange(outputs)
        counts = [int(value.ravel()[0]) for value in values if value.size == 1 and value.ndim <= 2
                  and np.issubdtype(value.dtype, np.integer)]
        packed = [value[0] for value in values if value.ndim == 3]
        flat = [value[0] for value in values if value.ndim == 2 and value.size != 1]
        labels = next((value for value in flat if np.issubdtype(value.dtype, np.integer)), None)
        boxes = next((value for value in packed if value.shape[1] == 4), None)
        if boxes is not None:
            scores = next((value for value in flat if np.issubdtype(value.dtype, np.floating)), None)
            if scores is None:
                by_class = next((value for value in packed if value is not boxes), None)
                if by_class is None or self.person >= by_class.shape[1]:
                    raise self._strange(outputs)
                scores, labels = by_class[:, self.person], None
        elif len(packed) == 1 and packed[0].shape[1] == 5:
            boxes, scores = packed[0][:, :4], packed[0][:, 4]
        elif len(packed) == 1 and packed[0].shape[1] > 5 + self.person:
            boxes = packed[0][:, :4] if self.decoded else self._decode(packed[0][:, :4], size, outputs)
            boxes = np.concatenate((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), axis=1)
            scores, labels = packed[0][:, 4] * packed[0][:, 5 + self.person], None
        else:
            raise self._strange(outputs)
        if len(boxes) != len(scores) or labels is not None and len(labels) != len(scores):
            raise self._strange(outputs)
        shown = np.ones(len(scores), dtype=bool) if labels is None else labels == self.person
        if counts:
            shown[counts[0]:] = False  # what follows is filling
        return boxes[shown], scores[shown]

    def _decode(self, boxes: np.ndarray, size: tuple[int, int], outputs: dict[str, np.ndarray]) -> np.ndarray:
        """Centres and sizes in pixels, of those in cells."""
        grids, scales = [], []
        for stride in _STRIDES:
            rows, columns = size[0] // stride, size[1] // stride
            grids.append(np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2))
            scales.append(np.full((rows * columns, 1), stride))
        grid, scale = np.concatenate(grids), np.concatenate(scales)
        if len(grid) != len(boxes):
            raise self._strange(outputs)
        return np.concatenate(((boxes[:, :2] + grid) * scale, np.exp(boxes[:, 2:]) * scale), axis=1)

    def _strange(self, outputs: dict[str, np.ndarray]) -> TypeError:
        return TypeError(f'{self.weights}: OnnxPeople cannot read its outputs, {self._network.describe(outputs)}; the '
                         'layouts that it knows are in its description')


def _family_name(weights: Path, family: Optional[str]) -> str:
    if family is None:
        found = [name for name in FAMILIES if name in weights.name.lower()]
        if len(found) != 1:
            raise ValueError(f'{weights}: its name does not say whether it is one of {", ".join(FAMILIES)}; set family '
                             'of the detector')
        return found[0]
    if family not in FAMILIES:
        raise ValueError('OnnxPeople.family: ' + unknown_name(family, FAMILIES, 'family'))
    return family
