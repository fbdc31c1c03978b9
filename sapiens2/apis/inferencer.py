"""Images in, results out: one class for the five tasks."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose, pseudo_collate
from torch import nn

from sapiens2.apis.image_sources import ImageInput, ImageSource, image_sources
from sapiens2.apis.person_boxes import BoxFinder, Boxes, PersonBoxes, box_fault, box_finder
from sapiens2.apis.result_files import FIELD_OF_TASK, result_picture, write_result
from sapiens2.apis.task_models import (check_task, dataset_meta, inference_pipeline, model_name, set_image_size,
                                       task_config)
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.models.checkpoints.describe import LAST_LAYERS
from sapiens2.models.checkpoints.small_machine import build_for_inference
from sapiens2.registry import TRANSFORMS
from sapiens2.structures import DataSample
from sapiens2.utils.devices import pick_device, pick_dtype
from sapiens2.weights import embedded_weights

Inputs = Union[ImageInput, Sequence[ImageInput], Sequence[ImageSource]]
Result = dict[str, Any]
# Of writing: the name is too long, has characters that the file system lacks, or is that of a folder or below a file.
# Any other fault, a full disk for instance, would meet the next image too.
_FAULTS_OF_NAMES = (errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.EEXIST)


@dataclass
class _Job:
    """One image on its way through the network."""

    source: ImageSource
    result: Result
    image: Optional[np.ndarray] = None
    people: Optional[PersonBoxes] = None
    crops: int = 0
    samples: list[DataSample] = field(default_factory=list)
    is_finite: bool = True

    @property
    def is_done(self) -> bool:
        return len(self.samples) == self.crops


def _predict_in_float32(head: nn.Module) -> None:
    """Compute a decoder's last layers in float32.

    The three digits of bf16 would round a surface 3 m away to 16 mm, and leave ties between classes.
    """
    for name, layer in head.named_children():
        if name in (*LAST_LAYERS, 'scale_final_layer'):
            layer.float().register_forward_pre_hook(lambda module, inputs: tuple(value.float() for value in inputs))


class Sapiens2Inferencer:
    """Run one task on photographs.

    Args:
        task: 'pose', 'seg', 'normal', 'pointmap' or 'albedo'.
        model: name of a model ('sapiens2_1b', or '1b' for short), a config file, or a config.
        weights: checkpoint in any supported format. With None those that come with the package, which has some of
            'sapiens2_tiny'; of another model they are random, and a warning says so. 'random' asks for that, so it is
            silent.
        device: 'auto' takes cuda, mps or cpu, in this order; or torch's name of a device.
        dtype: 'auto' is bf16 where the device computes in it, fp32 elsewhere; 'bf16', 'fp32', or
            their long names.
        img_size: (H, W) of the network's input, pixels; that of the config by default.
        flip_test: pose: average with the mirrored crop; as in the config by default.
        stream_layers, int8_weights: for machines with little memory, see ``build_for_inference``.

    Raises:
        ValueError: for an unknown task, model, device or dtype; the nearest names are offered.
        NotEnoughMemory: see ``build_for_inference``.
    """

    def __init__(
            self, task: str, model: Union[str, os.PathLike, Config] = 'sapiens2_1b',
            weights: Union[str, os.PathLike, None] = None, device: str = 'auto', dtype: str = 'auto',
            img_size: Optional[tuple[int, int]] = None, flip_test: Optional[bool] = None, stream_layers: str = 'auto',
            int8_weights: bool = False) -> None:
        self.task = check_task(task)
        self.device = pick_device(device)
        self.dtype = pick_dtype(dtype, self.device)
        self.cfg = task_config(task, model)
        if img_size is not None:
            set_image_size(self.cfg, img_size)
        if flip_test and task != 'pose':
            raise ValueError(f'flip_test is for pose, not for {task}')
        if flip_test is not None and task == 'pose':
            self.cfg.model.test_cfg = dict(self.cfg.model.get('test_cfg') or {}, flip_test=flip_test)
        self.dataset_meta = dataset_meta(task, self.cfg)
        if weights is None and isinstance(model, str) and not model.endswith('.py'):
            weights = embedded_weights(task, model_name(task, model))
        self.weights_name = RANDOM if weights is None else Path(weights).name
        self.pipeline = Compose([TRANSFORMS.build(step) for step in inference_pipeline(self.cfg)])
        self.model = build_for_inference(
            self.cfg.model, weights, self.device, self.dtype, stream_layers, int8_weights).eval()
        self.model_name = self.model.backbone.arch_name
        _predict_in_float32(self.model.decode_head)

    def __call__(self, inputs: Inputs, **options: Any) -> list[Result]:
        """All results of ``iterate`` at once; for many images iterate, which holds few of them at a time."""
        return list(self.iterate(inputs, **options))

    def iterate(
            self, inputs: Inputs, boxes: Optional[Boxes] = None, whole_image: bool = False,
            batch_size: Optional[int] = None, out_dir: Union[str, os.PathLike, None] = None, picture: bool = True,
            score_thr: float = 0.3, box_thr: float = 0.3) -> Iterator[Result]:
        """One result for each image, in order, made while they are asked for, so that few are held at a time.

        An image that cannot be read, or whose results cannot have its name, has a result that says why.

        Args:
            inputs: see ``image_sources``.
            boxes: pose: people's boxes, see ``box_finder``.
            whole_image: pose: take each image for one person.
            batch_size: crops or images that pass the network together. Default: 1 on a CPU, where more gain nothing,
                8 elsewhere.
            out_dir: folder to write files to, see ``sapiens2.apis.result_files``; None writes none.
            picture: also write pictures for people to look at.
            score_thr: key points with a lower score are not drawn.
            box_thr: boxes with a lower score are left out.

        Yields:
            task, model, weights: names.
            dataset_meta: names and colours of key points or classes, see ``load_metainfo``.
            path: str, None for an image in memory.
            image_size: (H, W), None if it could not be read.
            error: None, or why there is no result; then what follows is missing.
            files: paths written.
            pose: keypoints (people, K, 2) float32 x, y and bboxes (people, 4) x1, y1, x2, y2, pixels of the source
                image; keypoint_scores (people, K), bbox_scores (people,); skipped_boxes, texts;
                boxes_below_threshold, how many were left out for their score; message, why there are no people, or
                None; boxes_from.
            seg: sem_seg (H, W) uint8. normal: normal (H, W, 3) float32. albedo: albedo (H, W, 3) float32.
            pointmap: pointmap (H, W, 3) float32 metres; scale (1,) float32.

        Raises:
            ValueError: for pose without boxes where no detector is installed, and for boxes that fit none of the
                inputs.
            FileNotFoundError: for paths that lead to no image.
            OSError: if ``out_dir`` cannot be written to.
        """
        folder = None if out_dir is None else Path(out_dir)
        sources = image_sources(inputs, out_dir=folder)
        find_boxes = None
        if self.task == 'pose':
            find_boxes = box_finder(boxes, whole_image, [source.path for source in sources], box_thr)
        elif boxes is not None or whole_image:
            raise ValueError(f'boxes and whole_image are for pose; {self.task} sees the whole image in any case')
        size = batch_size or (1 if self.device.type == 'cpu' else 8)

        def results() -> Iterator[Result]:
            for job in self._finished_jobs(sources, find_boxes, size):
                if job.result['error'] is None:
                    self._fill(job)
                if folder is not None and job.result['error'] is None:
                    self._write(folder, job, picture, score_thr)
                yield job.result

        return results()

    def draw(self, image: np.ndarray, result: Result, score_thr: float = 0.3) -> np.ndarray:
        """The picture of a result, BGR; ``image`` is the (H, W, 3) uint8 BGR source image."""
        return result_picture(image, result, score_thr)

    def _finished_jobs(
            self, sources: Sequence[ImageSource], find_boxes: Optional[BoxFinder], batch_size: int) -> Iterator[_Job]:
        """Fill batches across images, so that sixty people of one image and sixty images of one run alike."""
        waiting: deque[_Job] = deque()
        batch: list[tuple[_Job, dict[str, Any]]] = []
        for index, source in enumerate(sources):
            job = self._open(index, source, find_boxes)
            waiting.append(job)
            for unit in self._units(job):
                batch.append((job, unit))
                if len(batch) == batch_size:
                    self._run(batch)
                    batch = []
            while waiting and waiting[0].is_done:
                yield waiting.popleft()
        if batch:
            self._run(batch)
        yield from waiting

    def _open(self, index: int, source: ImageSource, find_boxes: Optional[BoxFinder]) -> _Job:
        """Read one image and find its people; what goes wrong is noted in the result."""
        job = _Job(source, {
            'task': self.task, 'model': self.model_name, 'weights': self.weights_name,
            'dataset_meta': self.dataset_meta, 'path': None if source.path is None else str(source.path),
            'image_size': None, 'error': None, 'files': []})
        try:
            job.image = source.read()
            job.result['image_size'] = job.image.shape[:2]
            if find_boxes is not None:
                self._find_people(job, find_boxes.find(index, source.path, job.image), find_boxes.source)
            else:
                job.crops = 1
        except ValueError as error:
            job.result['error'] = str(error)
        return job

    @staticmethod
    def _find_people(job: _Job, people: Optional[PersonBoxes], boxes_from: str) -> None:
        """Keep the usable boxes, and name the others."""
        height, width = job.image.shape[:2]
        message = None
        if people is None:
            message = f'no people: {boxes_from} does not know this image'
            people = PersonBoxes(np.zeros((0, 4)), np.zeros(0))
        elif not len(people.boxes):
            message = f'no people: {boxes_from} has no box for this image'
            if people.below_threshold:
                message += f' with a score that is high enough ({people.below_threshold} below)'
        faults = [box_fault(box, height, width) for box in people.boxes]
        kept = [index for index, fault in enumerate(faults) if fault is None]
        skipped = [f'box {index} (x1, y1, x2, y2) = {np.round(people.boxes[index], 2).tolist()} {fault}'
                   for index, fault in enumerate(faults) if fault is not None]
        if skipped and not kept:
            message = f'no people: none of the {len(skipped)} boxes is usable'
        job.people = PersonBoxes(people.boxes[kept], people.scores[kept])
        job.crops = len(kept)
        job.result.update(boxes_from=boxes_from, skipped_boxes=skipped, boxes_below_threshold=people.below_threshold,
                          message=message)

    def _units(self, job: _Job) -> Iterator[dict[str, Any]]:
        """The network inputs of one image: the image itself, or one crop a person."""
        boxes = [None]
        if job.people is not None:
            height, width = job.image.shape[:2]
            # The data set cuts the boxes that networks are trained on at the edges of the image.
            boxes = np.clip(job.people.boxes, 0, (width, height, width, height)).astype(np.float32)
        for number, box in enumerate(boxes[:job.crops]):
            # Transforms change what they are given.
            known = {'img': job.image, 'img_path': job.source.name, 'dataset_meta': {}}
            try:
                yield self.pipeline(known if box is None else {**known, 'bboxes': box[None]})
            except (ValueError, cv2.error) as error:
                job.result['error'] = f'{job.source.name}: cannot be prepared for the network: {error}'
                job.crops = number
                return

    def _run(self, batch: Sequence[tuple[_Job, dict[str, Any]]]) -> None:
        """Pass one batch through the network.

        What the decoder gives is checked here, because classes and peaks made of NaN look like any other.
        """
        finite = torch.ones(len(batch), dtype=torch.bool)

        def check(head: nn.Module, inputs: Any, output: Any) -> None:
            for values in output if isinstance(output, tuple) else (output,):
                finite.logical_and_(values.isfinite().flatten(1).all(1).cpu())

        with torch.inference_mode(), self.model.decode_head.register_forward_hook(check):
            samples = self.model.test_step(pseudo_collate([unit for _, unit in batch]))
        for (job, _), sample, is_finite in zip(batch, samples, finite.tolist()):
            job.samples.append(sample.cpu())
            job.is_finite &= is_finite

    def _fill(self, job: _Job) -> None:
        """Turn the samples of one image into its result."""
        values = self._people_values(job) if self.task == 'pose' else self._map_values(job)
        if job.is_finite and all(np.isfinite(value).all() for value in values.values() if value.dtype.kind == 'f'):
            job.result.update(values)
        else:
            job.result['error'] = (f'{job.source.name}: the network gave values that are not finite numbers. Check the '
                                   "weights, and try dtype 'fp32'")

    @staticmethod
    def _write(folder: Path, job: _Job, picture: bool, score_thr: float) -> None:
        """Write the files of one result. A name that cannot be one of a file concerns this image alone."""
        try:
            job.result['files'] = [str(file) for file in write_result(
                folder, job.source.stem, job.image, job.result, picture, score_thr)]
        except OSError as error:
            if error.errno not in _FAULTS_OF_NAMES:
                raise
            job.result['error'] = f'{job.source.name}: its results cannot be written: {error}'

    def _map_values(self, job: _Job) -> dict[str, np.ndarray]:
        """(H, W) classes or (H, W, 3) values."""
        field_name = FIELD_OF_TASK[self.task]
        predicted = job.samples[0].pred_fields
        value = predicted.get(field_name).numpy()
        if self.task == 'seg':
            return {field_name: value.astype(np.uint8)}
        values = {field_name: np.ascontiguousarray(value.transpose(1, 2, 0))}
        return {**values, 'scale': predicted.scale.numpy()} if self.task == 'pointmap' else values

    def _people_values(self, job: _Job) -> dict[str, np.ndarray]:
        """Key points and boxes of all people of one image."""
        count = len(self.dataset_meta['keypoint_names'])
        instances = [sample.pred_instances for sample in job.samples]
        return {
            'keypoints': np.concatenate([np.zeros((0, count, 2), np.float32)]
                                        + [person.keypoints.float().numpy() for person in instances]),
            'keypoint_scores': np.concatenate([np.zeros((0, count), np.float32)]
                                              + [person.keypoint_scores.float().numpy() for person in instances]),
            'bboxes': job.people.boxes, 'bbox_scores': job.people.scores,
        }
