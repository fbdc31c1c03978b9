"""The check of whole data sets: every file read once, in parallel, every fault collected."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import cv2
import numpy as np
from mmengine.dataset import BaseDataset
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from sapiens2.apis.data_check.layouts import Source
from sapiens2.datasets.errors import DataError, Fault, Kind, collecting
from sapiens2.datasets.transforms.loading import LoadingStep
from sapiens2.datasets.walked import WalkedDataset
from sapiens2.registry import DATASETS, register_all
from sapiens2.utils.image_io import ImageReadError

# Samples that a worker hands over at a time: few, so that one sees progress with large files.
_BATCH = 4
_ORIENTATION_TAG = 0x0112
# EXIF orientations that leave the size of a picture as it is.
_KEEP_SIZE = (2, 3, 4)


@dataclass
class Plan:
    """What there is to read.

    Attributes:
        parts: the data sets, those inside mixtures and other wrappers one by one.
        samples: (part, index) of the samples to read; a picture with several people in it is one of them only.
        faults: what is wrong already, without any file read.
    """

    parts: list[BaseDataset] = field(default_factory=list)
    samples: list[tuple[int, int]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def make_plan(sources: Sequence[Source], limit: Optional[int] = None) -> Plan:
    """Build the data sets, walk their annotations and list what is to be read.

    Args:
        limit: samples of each data set, spread evenly over it.
    """
    register_all()
    plan = Plan()
    for source in sources:
        with collecting(plan.faults):
            for part in parts_of(DATASETS.build({**source.config, 'lazy_init': True})):
                _add(plan, part, limit)
    return plan


def parts_of(dataset: Any) -> Iterator[BaseDataset]:
    """The data sets inside mixtures and other wrappers."""
    inner = getattr(dataset, 'datasets', None) or [getattr(dataset, 'dataset', None)]
    if inner == [None]:
        yield dataset
    else:
        for part in inner:
            yield from parts_of(part)


def _add(plan: Plan, part: BaseDataset, limit: Optional[int]) -> None:
    found: list[Fault] = []
    if isinstance(part, WalkedDataset):
        part.report = found.append
    try:
        with collecting(found):
            part.full_init()
    finally:
        part.__dict__.pop('report', None)  # workers need it no more, and a list cannot be shared with them
    # Where there are other errors, that no sample is left follows from them.
    others = [fault for fault in found if fault.kind is not Kind.EMPTY]
    plan.faults += others if any(not fault.warning for fault in others) else found
    if not part._fully_initialized:
        return
    if not _loading_steps(part):
        plan.faults.append(Fault(
            Kind.UNCHECKED, str(part.ann_file), 'the pipeline does not begin with LoadImage, so no file was read',
            'pipeline', 'begin with LoadImage, and LoadFields for ground truth'))
    seen: set[tuple[Any, ...]] = set()
    indices: list[int] = []
    for index in range(len(part)):
        info = part.get_data_info(index)
        # A picture is read once for all people in it, and once for each size that entries give it; with ground truth of
        # its own each sample is.
        entry = info['img_path'], info.get('height'), info.get('width')
        if 'field_paths' in info or entry not in seen:
            seen.add(entry)
            indices.append(index)
    if limit is not None and limit < len(indices):
        indices = [indices[place] for place in np.linspace(0, len(indices) - 1, limit).astype(int)]
    plan.samples += [(len(plan.parts), index) for index in indices]
    plan.parts.append(part)


def read_all(plan: Plan, workers: int) -> Iterator[list[Fault]]:
    """Read the samples of ``plan`` in order, and yield the faults of each.

    Args:
        workers: processes; 0 reads in this one.
    """
    if not plan.samples:
        return
    threads = cv2.getNumThreads()
    # OpenCV's threads do not live in a forked worker, which would wait for them for ever.
    cv2.setNumThreads(0)
    try:
        for batch in DataLoader(_Samples(plan), batch_size=_BATCH, num_workers=workers, collate_fn=list):
            yield from batch
    finally:
        cv2.setNumThreads(threads)


def pass_through(plan: Plan) -> Iterator[Fault]:
    """Send one sample of each data set through its whole pipeline: what goes wrong after loading does so in all."""
    for number, part in enumerate(plan.parts):
        first = next((index for of, index in plan.samples if of == number), None)
        if first is None or sample_faults(_loading_steps(part), part.get_data_info(first)):
            continue
        faults: list[Fault] = []
        with collecting(faults):
            part[first]
        yield from faults


class _Samples(Dataset):
    """The faults of each sample of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.parts = plan.parts
        self.samples = np.array(plan.samples)  # an array, which workers share without copying it

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> list[Fault]:
        part, index = self.samples[number]
        dataset = self.parts[part]
        return sample_faults(_loading_steps(dataset), dataset.get_data_info(int(index)))


def _loading_steps(part: BaseDataset) -> list[LoadingStep]:
    """Those with which the pipeline begins."""
    return list(itertools.takewhile(lambda step: isinstance(step, LoadingStep), part.pipeline.transforms))


def sample_faults(steps: Sequence[LoadingStep], info: dict[str, Any]) -> list[Fault]:
    """Read one sample.

    Args:
        steps: that read it.
        info: what the data set knows of the sample.
    """
    faults: list[Fault] = []
    for step in steps:
        try:
            faults += step.load(info)
        except ImageReadError as error:
            return [*faults, Fault(Kind.UNREADABLE, error.path, error.reason, 'img')]
        except DataError as error:
            return [*faults, error.fault]
    return [*faults, *_turned(info)]


def _turned(info: dict[str, Any]) -> Iterator[Fault]:
    """A picture that EXIF mirrors or turns upside down: that ground truth was not, no size tells."""
    try:
        with Image.open(info['img_path']) as image:
            turn = image.getexif().get(_ORIENTATION_TAG, 1)
            square = image.width == image.height
    except Exception:  # OpenCV has read the picture, so what Pillow does not like about its header is no fault
        return
    if turn in _KEEP_SIZE or turn > 4 and square:
        yield Fault(Kind.TURNED, info['img_path'], f'EXIF orientation {turn} turns the picture but keeps its size, so '
                    'ground truth that was not turned would go unnoticed', 'img',
                    'compare them with sapiens2 data browse, or save the picture upright')
