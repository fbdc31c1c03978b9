"""Dense ground truth for linear probes: at the size of a network's input, and sampled at the cells of its patches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from mmengine.dataset import Compose
from mmengine.structures import BaseDataElement
from rich.console import Console
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sapiens2.evaluation.probes.extract import key_of
from sapiens2.evaluation.probes.images import ProbeData
from sapiens2.evaluation.probes.store import TensorStore
from sapiens2.registry import TRANSFORMS, register_all

_FORMAT = 1
# Field -> the regressed values it gives, and how many channels each has.
VALUES = {'normal': {'normal': 3}, 'depth': {'depth': 1, 'relief': 1}, 'albedo': {'albedo': 3}}


def value_slices(fields: Sequence[str]) -> dict[str, slice]:
    """Where each value stands among the regressed channels of a data set with ``fields``."""
    slices, start = {}, 0
    for field in VALUES:
        for name, channels in VALUES[field].items() if field in fields else ():
            slices[name] = slice(start, start + channels)
            start += channels
    return slices


class GroundTruth(Dataset):
    """The fields of pictures at ``size`` (H, W), shape kept: as ``DataSample.gt_fields`` has them."""

    def __init__(self, data: ProbeData, size: tuple[int, int]) -> None:
        register_all()
        self.data = data
        self.pipeline = Compose([TRANSFORMS.build(step) for step in (
            dict(type='LoadImage'), dict(type='LoadFields'), dict(type='Resize', size=size, keep_ratio=True),
            dict(type='PackInputs'))])

    def __len__(self) -> int:
        return len(self.data.images)

    def __getitem__(self, index: int) -> BaseDataElement:
        """Read the fields of a picture.

        Raises:
            DataError, ImageReadError: naming the file.
        """
        image = self.data.images[index]
        packed = self.pipeline({'img_path': str(image.path), 'field_paths': dict(image.field_paths),
                                'label_table': self.data.label_table})
        return packed['data_samples'].gt_fields


class CellTargets(Dataset):
    """What the cells of the patches shall say.

    A patch has ``cells`` x ``cells`` of them; each is asked for the truth at its centre, so that thin things count as
    much as their pixels do.

    Args:
        grid: rows and columns of the patches.
    """

    def __init__(self, truth: GroundTruth, grid: tuple[int, int], cells: int) -> None:
        self.truth, self.shape = truth, (grid[0] * cells, grid[1] * cells)

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """``label`` (a, b) uint8, 255 for none; ``values`` (a, b, D) float32; ``mask`` (a, b) uint8: where they are."""
        fields = self.truth[index]
        found: dict[str, Tensor] = {}
        if 'sem_seg' in fields:
            found['label'] = self._sample(fields.sem_seg[None])[..., 0].to(torch.uint8)
        if 'mask' in fields:
            found['mask'] = self._sample(fields.mask)[..., 0].to(torch.uint8)
            parts = [self._sample(part) for part in regressed(fields).values()]
            if parts:
                found['values'] = torch.cat(parts, dim=-1)
        return found

    def _sample(self, field: Tensor) -> Tensor:
        """(C, H, W) at the centres of the cells: (a, b, C)."""
        rows, columns = (((torch.arange(count) + 0.5) * side / count).long()
                         for count, side in zip(self.shape, field.shape[1:]))
        return field[:, rows[:, None], columns].permute(1, 2, 0)


def regressed(fields: BaseDataElement) -> dict[str, Tensor]:
    """The values of ``VALUES``, (C, H, W) each. Depth is the logarithm of metres; relief is that less its median over
    the people of the picture, which is free of the picture's scale."""
    found = {}
    if 'normal' in fields:
        found['normal'] = fields.normal
    if 'depth' in fields:
        logarithm = fields.depth.where(fields.mask, 1.0).clamp(min=1e-3).log()
        seen = logarithm[fields.mask]
        found['depth'] = logarithm
        found['relief'] = logarithm - (seen.median() if len(seen) else 0.0)
    if 'albedo' in fields:
        found['albedo'] = fields.albedo
    return found


def target_store(folder: Path, data: ProbeData, truth: GroundTruth, size: tuple[int, int], grid: tuple[int, int],
                 cells: int, console: Console, workers: int = 0) -> TensorStore:
    """``CellTargets`` of all pictures, made unless they are in ``folder``."""
    about = dict(format=_FORMAT, data=data.truth_fingerprint(), fields=list(data.fields), size=list(size),
                 grid=list(grid), cells=cells)
    store = TensorStore(folder / f'ground_truth-{key_of(about)}', len(data.images))
    targets = CellTargets(truth, grid, cells)

    def compute(batches: Iterable[Sequence[int]]) -> Iterator[dict[str, Tensor]]:
        lists = [list(numbers) for numbers in batches]
        yield from DataLoader(targets, batch_sampler=lists, num_workers=workers)

    store.fill(compute, about, 'ground truth', console)
    return store
