"""People by a detector of transformers: RT-DETR, DETR, YOLOS and others that know the class person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import cv2
import numpy as np
import torch

from sapiens2.detectors.base import People, PersonDetector, people_inside
from sapiens2.detectors.nms import nms, soft_nms
from sapiens2.registry import DETECTORS

PERSON = 'person'


@DETECTORS.register_module()
class TransformersPeople(PersonDetector):
    """An object detector in transformers' format.

    Args:
        weights: folder with config.json, model.safetensors and preprocessor_config.json; or the name of a repository
            that is in the local cache, for instance 'PekingU/rtdetr_r50vd'. Nothing is downloaded.
        threshold: least score of a box.
        overlap: boxes that overlap a surer one by more are left out, see ``nms``. RT-DETR and DETR give few of them.
        soft: in place of that, lower their scores and leave out those below the threshold: for crowds, see
            ``soft_nms``.
    """

    def __init__(self, weights: str, threshold: float = 0.5, overlap: float = 0.8, soft: bool = False) -> None:
        self.weights, self.threshold, self.overlap, self.soft = weights, threshold, overlap, soft
        self._model: Optional[Any] = None

    def setup(self, device: str = 'cpu') -> None:
        """Load processor and network.

        Raises:
            ImportError: if transformers is missing.
            ValueError: if the weights are not there, or the network knows no people.
        """
        if self._model is not None:
            return
        try:
            from transformers import AutoImageProcessor, AutoModelForObjectDetection
        except ImportError as error:
            raise ImportError('TransformersPeople needs transformers: pip install "sapiens2[transformers]"') from error
        try:
            self._processor = AutoImageProcessor.from_pretrained(self.weights, local_files_only=True)
            model = AutoModelForObjectDetection.from_pretrained(
                self.weights, local_files_only=True, use_safetensors=True)
        except OSError as error:
            raise ValueError(f'{self.weights}: no detector in this folder, nor in the local cache of Hugging Face: '
                             f'{str(error).splitlines()[0]}. Download it first, and give its folder') from error
        labels = {label.lower(): number for number, label in model.config.id2label.items()}
        if PERSON not in labels:
            raise ValueError(f'{self.weights}: knows no class {PERSON!r}, but {", ".join(sorted(labels)[:8])}...')
        self._person, self._model = labels[PERSON], model.eval().to(device)

    def __call__(self, pictures: Sequence[np.ndarray]) -> list[People]:
        self.setup()
        rgb = [cv2.cvtColor(picture, cv2.COLOR_BGR2RGB) for picture in pictures]
        inputs = self._processor(images=rgb, return_tensors='pt').to(self._model.device)
        sizes = [picture.shape[:2] for picture in pictures]
        with torch.inference_mode():
            found = self._processor.post_process_object_detection(
                self._model(**inputs), threshold=self.threshold, target_sizes=sizes)
        people = []
        for result, size in zip(found, sizes):
            is_person = result['labels'] == self._person
            boxes, scores = (result[name][is_person].float().cpu().numpy() for name in ('boxes', 'scores'))
            people.append(people_inside(*self._distinct(boxes, scores), size))
        return people

    def _distinct(self, boxes: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.soft:
            kept, scores = soft_nms(boxes, scores, self.threshold)
            return boxes[kept], scores
        kept = nms(boxes, scores, self.overlap)
        return boxes[kept], scores[kept]
