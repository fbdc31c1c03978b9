"""Images in, results out: one class for the five tasks."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from mmengine.config import Config

from sapiens2.apis.arguments import check_count, check_score, check_size, check_tasks
from sapiens2.apis.box_finder import BoxFinder, Boxes, box_finder
from sapiens2.apis.image_sources import ImageInput, ImageSource, image_sources
from sapiens2.apis.inference_run import InferenceRun, Result, tasks_with_people
from sapiens2.apis.journal import Journal
from sapiens2.apis.outputs import OutputOptions, check_keypoints, check_packages, result_picture
from sapiens2.apis.task_network import TaskNetwork, share_backbones
from sapiens2.utils.atomic import check_folder
from sapiens2.utils.devices import DTYPES, pick_device, pick_dtype
from sapiens2.utils.suggest import check_names
from sapiens2.version import __version__

Inputs = Union[ImageInput, Sequence[ImageInput], Iterable[Union[ImageInput, ImageSource]]]
Weights = Union[str, os.PathLike, None]


class Sapiens2Inferencer:
    """Run one task on photographs, or several in one pass over them.

    Several tasks share a backbone where their weights have the same one, as after training with a frozen backbone; the
    dense tasks then share its pass, too.

    Args:
        task: 'pose', 'seg', 'normal', 'pointmap' or 'albedo'; or several of them.
        model: name of a model ('sapiens2_1b', or '1b' for short), a config file, or a config. Default: 'sapiens2_1b',
            and of an exported file what it holds.
        weights: checkpoint in any supported format, an exported network, or 'OWNER/REPOSITORY' of huggingface.co, see
            ``local_weights``; for several tasks a mapping from task to checkpoint. With None
            those that come with the package, which has some of 'sapiens2_tiny'; of another model they are random, and
            a warning says so. 'random' asks for that, so it is silent.
        device: 'auto' takes cuda, mps or cpu, in this order; or torch's name of a device.
        dtype: 'auto' is bf16 where the device computes in it, fp32 elsewhere; 'bf16', 'fp32', or
            their long names. An exported file has its own.
        img_size: (H, W) of the network's input, pixels; that of the config by default.
        flip_test: pose: average with the mirrored crop; as in the config by default.
        stream_layers, int8_weights: for machines with little memory, see ``build_for_inference``.
        trust_exported: open exported networks of formats that can run code: torch.export, AOTInductor, TorchScript.

    Attributes:
        networks: task -> ``TaskNetwork``.

    Raises:
        TypeError: for an argument of another kind.
        ValueError: for an unknown task, model, device or dtype; the nearest names are offered. For a model, dtype, int8
            weights or streamed layers with an exported file that has others.
        NotEnoughMemory: see ``build_for_inference``.
    """

    def __init__(
            self, task: Union[str, Sequence[str]], model: Union[str, os.PathLike, Config, None] = None,
            weights: Union[Weights, Mapping[str, Weights]] = None, device: str = 'auto', dtype: str = 'auto',
            img_size: Optional[tuple[int, int]] = None, flip_test: Optional[bool] = None, stream_layers: str = 'auto',
            int8_weights: bool = False, trust_exported: bool = False) -> None:
        tasks, img_size = check_tasks(task), check_size(img_size, 'img_size')
        if flip_test and 'pose' not in tasks:
            raise ValueError(f'flip_test is for pose, not for {", ".join(tasks)}')
        self.device = pick_device(device)
        self.dtype = pick_dtype(dtype, self.device)
        if isinstance(weights, Mapping):
            check_names(weights, tasks, 'weights')
        files = weights if isinstance(weights, Mapping) else dict.fromkeys(tasks, weights)
        self.networks = {name: TaskNetwork(name, model, files.get(name), self.device, self.dtype, img_size, flip_test,
                                           stream_layers, int8_weights, trust_exported) for name in tasks}
        for network in self.networks.values() if dtype != 'auto' else ():
            if network.file_dtype is not None and DTYPES[network.file_dtype] != self.dtype:
                raise ValueError(f'{network.weights}: an exported file computes in the dtype it was written with, '
                                 f'{network.file_dtype}, and dtype {dtype!r} (--dtype) has no effect on it: leave it '
                                 'out, or export the network again')
        share_backbones(list(self.networks.values()))
        self._settings = {'sapiens2': __version__, 'dtype': str(self.dtype), 'int8_weights': int8_weights}

    def __call__(self, inputs: Inputs, **options: Any) -> list[Result]:
        """All results of ``iterate`` at once; for many images iterate, which holds few of them at a time."""
        return list(self.iterate(inputs, **options))

    def iterate(
            self, inputs: Inputs, boxes: Optional[Boxes] = None, whole_image: bool = False,
            batch_size: Optional[int] = None, out_dir: Union[str, os.PathLike, None] = None,
            outputs: OutputOptions = OutputOptions(), box_thr: float = 0.3, resume: bool = False,
            keep_values: bool = True) -> Iterator[Result]:
        """One result for each image and task, in order, made while they are asked for, so that few are held at a time.

        An image that cannot be read, or whose results cannot have its name, has a result that says why.

        Args:
            inputs: see ``image_sources``; an iterator is taken as it goes, without end if need be.
            boxes: pose: people's boxes, see ``box_finder``.
            whole_image: pose: take each image for one person.
            batch_size: crops or images that pass the network together. Default: 1 on a CPU, where more gain nothing,
                8 elsewhere.
            out_dir: folder to write files to, see ``sapiens2.apis.outputs``; None writes none.
            outputs: which files are written, and how.
            box_thr: boxes with a lower score are left out.
            keep_values: whether results that are written still have their maps when they are given out; less is in
                memory without.
            resume: leave out what an earlier run has finished in ``out_dir``, with the same weights and settings, of
                the same source file; its result has ``files`` and ``finished_before``, no values. Random weights are
                never the same. An image whose results would take the place of another image's has an error. Without,
                all is made and overwritten.

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
            seg: sem_seg (H, W) uint8; seg_probs (classes, H, W) float16 where the format soft is asked for; boxes as
                for pose where people is. normal: normal (H, W, 3) float32. albedo: albedo (H, W, 3) float32.
            pointmap: pointmap (H, W, 3) float32 metres; scale (1,) and focal (1,) float32, see ``PointmapHead``; camera
                (3, 3) where ``outputs`` has one; mask (H, W) bool, people, where seg ran just before.

        Raises:
            TypeError: for an argument of another kind.
            ValueError: for pose without boxes where no detector is installed, and for boxes that fit none of the
                inputs; for an argument out of its range, and an empty name of a file or folder.
            FileNotFoundError: for paths that lead to no image.
            OSError: if ``out_dir`` cannot be written to.
        """
        if not isinstance(outputs, OutputOptions):
            raise TypeError(f'outputs must be OutputOptions(...) of sapiens2.apis.outputs, got {outputs!r:.40}')
        size = (1 if self.device.type == 'cpu' else 8) if batch_size is None else check_count(batch_size, 'batch_size')
        check_score(box_thr, 'box_thr')
        if out_dir is not None:
            check_folder(out_dir)
        folder = None if out_dir is None else Path(out_dir)
        if 'pose' in self.networks:
            check_keypoints(self.networks['pose'].dataset_meta, outputs)
        if folder is not None:
            check_packages(self.networks, outputs)
        sources = image_sources(inputs, out_dir=folder)
        find_people = None
        if tasks_with_people(self.networks, outputs):
            paths = [source.file_name for source in sources] if isinstance(sources, list) else None
            find_people = box_finder(boxes, whole_image, paths, box_thr)
        elif boxes is not None or whole_image:
            raise ValueError(f'boxes and whole_image are for pose, and for seg with the format people; '
                             f'{", ".join(self.networks)} sees the whole image in any case')
        journals = {} if folder is None else self._journals(folder, outputs, find_people, resume)
        return InferenceRun(self.networks, find_people, size, folder, outputs, journals,
                            keep_values or folder is None)(sources)

    def draw(self, image: np.ndarray, result: Result, score_thr: float = 0.3) -> np.ndarray:
        """The picture of a result, BGR; ``image`` is the (H, W, 3) uint8 BGR source image."""
        return result_picture(image, result, score_thr)

    def settings(self, task: str, outputs: OutputOptions,
                 find_people: Optional[BoxFinder] = None) -> Optional[dict[str, Any]]:
        """All that decides the results of a task, in JSON's types; None if nothing tells, as with random weights."""
        needs_people = bool(tasks_with_people([task], outputs))
        network, people = self.networks[task].settings, find_people.settings if needs_people else None
        if network is None or (needs_people and people is None):
            return None
        return {**self._settings, **network, 'people': people, 'outputs': dataclasses.asdict(outputs)}

    def _journals(self, folder: Path, outputs: OutputOptions, find_people: Optional[BoxFinder],
                  resume: bool) -> dict[str, Journal]:
        return {task: Journal(folder / task, self.settings(task, outputs, find_people), resume)
                for task in self.networks}
