"""Images through networks: reading, the networks, and what follows them work at the same time.

Images are read and prepared in threads, a few ahead; networks run in the caller's thread, on batches that reach across
images, so that sixty people of one image and sixty images of one run alike; key points and maps at full size are
computed, drawn and written in threads again.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

import cv2
import numpy as np
from mmengine.dataset import pseudo_collate
from PIL import Image

from sapiens2.apis.box_finder import BoxFinder
from sapiens2.apis.image_sources import ImageSource
from sapiens2.apis.journal import Journal
from sapiens2.apis.outputs import FIELD_OF_TASK, OutputOptions, apply_camera, write_result
from sapiens2.apis.person_boxes import PersonBoxes, cut_boxes, usable_people
from sapiens2.apis.task_network import TaskNetwork, of_one, own_arithmetic, see_the_same
from sapiens2.structures import DataSample
from sapiens2.utils.atomic import unusable_name
from sapiens2.utils.overlap import ahead, in_background
from sapiens2.utils.pillow_pictures import stated_pixels

Result = dict[str, Any]
# Pictures with more pixels, photographs of 9 megapixels but no frame of 4K, go through alone where that costs no batch:
# each has maps of hundreds of megabytes, of which one at a time is enough.
_LARGE = 9_000_000
# Threads that read and that write. More would hold more images than they gain time.
_READERS = _WRITERS = min(4, os.cpu_count() or 1)


@dataclass(eq=False)
class _Pass:
    """One image on its way through networks that see the same of it."""

    group: Sequence[TaskNetwork]
    crops: int = 1
    samples: list[DataSample] = field(default_factory=list)
    # For each network, its output for each crop.
    outputs: list[list[Any]] = field(default_factory=list)


@dataclass(eq=False)
class _Image:
    """One image and the results that are made of it."""

    index: int
    source: ImageSource
    results: dict[str, Result]
    pixels: Optional[np.ndarray] = None
    people: Optional[PersonBoxes] = None
    passes: list[_Pass] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return all(len(part.samples) == part.crops for part in self.passes)

    def fail(self, reason: str, tasks: Iterable[str]) -> None:
        for task in tasks:
            self.results[task]['error'] = self.results[task]['error'] or reason


# An image, or what a group of networks, by its number, sees of one.
_Event = Union[_Image, tuple[int, tuple[_Pass, dict[str, Any]]]]


@dataclass(frozen=True)
class InferenceRun:
    """One run over images.

    Args:
        networks: task -> network.
        find_people: where people are; None where no task needs them.
        batch_size: crops or images that pass a network together.
        folder: for files; None writes none.
        outputs: which files, and how.
        journals: task -> what is done already; empty for a run that starts anew.
        keep_values: whether results that are written keep their maps.
    """

    networks: Mapping[str, TaskNetwork]
    find_people: Optional[BoxFinder]
    batch_size: int
    folder: Optional[Path]
    outputs: OutputOptions
    journals: Mapping[str, Journal]
    keep_values: bool = True

    def __call__(self, sources: Iterable[ImageSource]) -> Iterator[Result]:
        """The results of each image, one a task, in order."""
        if self.batch_size > 1:
            yield from self._overlapping(enumerate(sources))
            return
        for alone, part in itertools.groupby(enumerate(sources), lambda numbered: _is_large(numbered[1])):
            yield from self._one_by_one(part) if alone else self._overlapping(part)

    def _one_by_one(self, sources: Iterable[tuple[int, ImageSource]]) -> Iterator[Result]:
        groups = see_the_same(self.networks)
        for numbered in sources:
            image = None  # let go of the one before
            for event in self._prepared_image(self._read(numbered), groups):
                if isinstance(event, _Image):
                    image = event
                else:
                    _run(groups[event[0]], [event[1]])
            del event
            yield from _given_out(self._finish(image))

    def _overlapping(self, sources: Iterable[tuple[int, ImageSource]]) -> Iterator[Result]:
        finished = self._through_networks(sources)
        done = map(self._finish, finished) if self.folder is None else ahead(
            self._finish, finished, _WRITERS, _WRITERS + 1)
        for image in done:
            yield from _given_out(image)

    def _through_networks(self, sources: Iterable[tuple[int, ImageSource]]) -> Iterator[_Image]:
        groups = see_the_same(self.networks)
        batches: dict[int, list[tuple[_Pass, dict[str, Any]]]] = {index: [] for index in range(len(groups))}
        waiting: deque[_Image] = deque()
        for event in in_background(self._prepared(sources, groups), 2 * self.batch_size + len(groups)):
            if isinstance(event, _Image):
                waiting.append(event)
            else:
                number, unit = event
                batches[number].append(unit)
                if len(batches[number]) == self.batch_size:
                    _run(groups[number], batches[number])
                    batches[number] = []
            while waiting and waiting[0].is_done:
                yield waiting.popleft()
        for number, batch in batches.items():
            if batch:
                _run(groups[number], batch)
        yield from waiting

    def _prepared(self, sources: Iterable[tuple[int, ImageSource]], groups: Sequence[Sequence[TaskNetwork]]
                  ) -> Iterator[_Event]:
        for image in ahead(self._read, sources, _READERS, _READERS + 1):
            yield from self._prepared_image(image, groups)

    def _prepared_image(self, image: _Image, groups: Sequence[Sequence[TaskNetwork]]) -> Iterator[_Event]:
        """An image, followed by what of it the networks see, with the number of their group."""
        if image.pixels is None:
            yield image
            return
        if self.find_people is not None:
            self._find_people(image)
        parts = [(number, _Pass(group)) for number, group in enumerate(groups)
                 if any('files' not in image.results[network.task] and not image.results[network.task]['error']
                        for network in group)]
        for _, part in parts:
            if part.group[0].task == 'pose':
                part.crops = 0 if image.people is None else len(image.people.boxes)
        image.passes = [part for _, part in parts]
        yield image
        for number, part in parts:
            for unit in _units(image, part):
                yield number, (part, unit)

    def _read(self, numbered: tuple[int, ImageSource]) -> _Image:
        """Read one image, unless nothing is to be done with it; what goes wrong is noted in its results."""
        index, source = numbered
        image = _Image(index, source, {task: _heading(network, source) for task, network in self.networks.items()})
        for task, journal in self.journals.items():
            self._look_up(image, task, journal)
        if all('files' in result or result['error'] for result in image.results.values()):
            return image
        try:
            image.pixels = source.read()
        except ValueError as error:
            image.fail(str(error), image.results)
        else:
            for result in image.results.values():
                result['image_size'] = image.pixels.shape[:2]
        return image

    def _look_up(self, image: _Image, task: str, journal: Journal) -> None:
        """Note what an earlier run has left of one result, or that it has left another picture's in its place."""
        source, result = image.source, image.results[task]
        if source.origin is None:
            return
        files = None if source.path is None else journal.finished(source.stem, source.path)
        if files is not None:
            result.update(files=files, finished_before=True, **journal.summary(source.stem))
        else:
            result['error'] = journal.refusal(source.stem, source.origin, source.name)

    def _find_people(self, image: _Image) -> None:
        tasks = tasks_with_people(self.networks, self.outputs)
        try:
            found = self.find_people.find(image.index, image.source.file_name, image.pixels)
        except ValueError as error:
            image.fail(str(error), tasks)
            return
        image.people, texts = usable_people(
            found, self.find_people.source, image.pixels.shape[:2], self.find_people.remedy)
        for task in tasks:
            image.results[task].update(boxes_from=self.find_people.source, bboxes=image.people.boxes,
                                       bbox_scores=image.people.scores, **texts)

    def _finish(self, image: _Image) -> _Image:
        """Fill and write the results of one image, and let go of what they are made of."""
        for part in image.passes:
            for network, outputs in zip(part.group, part.outputs or [[] for _ in part.group]):
                result = image.results[network.task]
                samples, part_outputs = [sample.new() for sample in part.samples], list(outputs)
                outputs.clear()  # the full-size maps take its place
                if result['error'] is None:
                    try:
                        soft = {'seg_probs': True} if network.task == 'seg' and 'soft' in self.outputs.seg else {}
                        result.update(network.values(part_outputs, samples, **soft))
                        samples, part_outputs = [], []
                        if network.task == 'pointmap':
                            result.update(self._known_scene(image))
                    except ValueError as error:
                        result['error'] = f'{image.source.name}: {error}'
                if result['error'] is None and self.folder is not None:
                    self._write(image, network.task)
                    if not self.keep_values and network.task != 'seg':
                        _drop_maps(result)
        for result in image.results.values():
            result.setdefault('files', [])
            if not self.keep_values:
                _drop_maps(result)
        image.passes, image.pixels, image.people = [], None, None
        return image

    def _known_scene(self, image: _Image) -> Result:
        """Entries of a pointmap's result from elsewhere: the camera given, and people as segmentation sees them.

        Raises:
            ValueError: if the camera cannot be of this image.
        """
        known = {} if self.outputs.camera is None else apply_camera(image.results['pointmap'], self.outputs.camera)
        labels = image.results.get('seg', {}).get('sem_seg')
        return known if labels is None else {**known, 'mask': labels > 0}

    def _write(self, image: _Image, task: str) -> None:
        """Write the files of one result. A name that cannot be one of a file concerns this image alone."""
        result, source = image.results[task], image.source
        try:
            result['files'] = [str(file) for file in write_result(
                self.folder, source.stem, image.pixels, result, self.outputs)]
        except OSError as error:
            result['error'] = unusable_name(source.name, error)
            return
        if task in self.journals and source.origin is not None:
            self.journals[task].add(source.stem, source.origin, result['files'], _summary(result))


def _summary(result: Result) -> dict[str, Any]:
    """What a later run that finds this result finished is to tell of its people."""
    if result['task'] != 'pose':
        return {}
    return {'people': len(result['bboxes']), **{name: result[name] for name in (
        'message', 'skipped_boxes', 'boxes_below_threshold')}}


def _given_out(image: _Image) -> Iterator[Result]:
    """The results of an image, each let go of when the next is asked for."""
    while image.results:
        yield image.results.pop(next(iter(image.results)))


def _drop_maps(result: Result) -> None:
    """Leave out what has a value for each pixel."""
    for name in (*FIELD_OF_TASK.values(), 'seg_probs', 'mask'):
        result.pop(name, None)


def _is_large(source: ImageSource) -> bool:
    """By what the file says of itself; one that cannot be opened is reported when it is read."""
    if source.path is not None:
        return stated_pixels(source.path) > _LARGE
    if source.pixels is None:
        return False
    # An array without height and width is reported when it is read, too.
    return math.prod(source.pixels.size if isinstance(source.pixels, Image.Image) else source.pixels.shape[:2]) > _LARGE


def tasks_with_people(tasks: Iterable[str], outputs: OutputOptions) -> list[str]:
    """Tasks that need to know where people are: pose, and segmentation where a map of persons is asked for."""
    maps_people = not {'people', 'people-npz'}.isdisjoint(outputs.seg)
    return [task for task in tasks if task == 'pose' or (task == 'seg' and maps_people)]


def _heading(network: TaskNetwork, source: ImageSource) -> Result:
    return {'task': network.task, 'model': network.model_name, 'weights': network.weights_name,
            'dataset_meta': network.dataset_meta,
            'path': None if source.path is None and source.url is None else source.name,
            'image_size': None, 'error': None, **source.details}


def _units(image: _Image, part: _Pass) -> Iterator[dict[str, Any]]:
    """The network inputs of one image: the image itself, or one crop a person."""
    boxes = [None]
    if part.group[0].task == 'pose':
        boxes = cut_boxes(image.people.boxes, *image.pixels.shape[:2]) if part.crops else []
    for number, box in enumerate(boxes):
        # Transforms change what they are given.
        known = {'img': image.pixels, 'img_path': image.source.name, 'dataset_meta': {}}
        try:
            yield part.group[0].pipeline(known if box is None else {**known, 'bboxes': box[None]})
        except (ValueError, cv2.error) as error:
            image.fail(f'{image.source.name}: cannot be prepared for the network: {error}',
                       [network.task for network in part.group])
            part.crops = number
            return


def _run(group: Sequence[TaskNetwork], batch: Sequence[tuple[_Pass, dict[str, Any]]]) -> None:
    """Pass one batch through the networks of a group, which share a backbone if they are several."""
    model = group[0].model
    with own_arithmetic(group[0].device):
        data = model.data_preprocessor(pseudo_collate([unit for _, unit in batch]), False)
        if len(group) == 1:
            outputs = [model.outputs(data['inputs'])]
        else:
            feats = model.extract_feat(data['inputs'])
            outputs = [network.model.decode_head(feats) for network in group]
    for index, ((part, _), sample) in enumerate(zip(batch, data['data_samples'])):
        part.outputs = part.outputs or [[] for _ in group]
        for kept, output in zip(part.outputs, outputs):
            kept.append(of_one(output, index))
        part.samples.append(sample)
