"""Linear probes of patch tokens: what they tell of classes, normals, depth and albedo inside the patch.

One linear map turns a token into the values of the cells of its patch; these are interpolated to pixels and measured as
predictions of a network are. Features are read from disk picture by picture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from mmengine.structures import BaseDataElement
from torch import Tensor

from sapiens2.evaluation.functional import (albedo_scores, albedo_sums, depth_scores, depth_sums, normal_scores,
                                            normal_sums, seg_scores, seg_sums)
from sapiens2.evaluation.functional.sums import Sums
from sapiens2.evaluation.probes.coarse import COARSE, coarse_table
from sapiens2.evaluation.probes.ground_truth import GroundTruth, value_slices
from sapiens2.evaluation.probes.solvers import LeastSquares, Linear, choose_strength, fit_logistic
from sapiens2.evaluation.probes.store import TensorStore

# Tokens that the classes are learnt from at most: what bounds memory, with C float32 each.
MOST_TOKENS = 40_000
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
_FEW_STRENGTH, _SEG_STRENGTH, _PARTS = 1e-2, 1e-4, 5
_IGNORED = 255

Follow = Callable[[Iterable[int]], Iterable[int]]


@dataclass(frozen=True)
class DenseTask:
    """What is probed.

    Attributes:
        fields: dense ground truth that is there.
        classes: names of the classes.
        cells: along a side of a patch.
    """

    fields: tuple[str, ...]
    classes: tuple[str, ...]
    cells: int

    @property
    def slices(self) -> dict[str, slice]:
        """Where each regressed value stands."""
        return value_slices(self.fields)

    @property
    def channels(self) -> int:
        """Regressed values of a cell."""
        return max((place.stop for place in self.slices.values()), default=0)


@dataclass(frozen=True)
class DenseHead:
    """A fitted probe: logits of the classes (cells and classes in one linear map), and one map a cell for values."""

    task: DenseTask
    seg: Optional[Linear] = None
    values: tuple[Linear, ...] = ()

    def logits(self, patches: Tensor) -> Tensor:
        """(h, w, C) tokens -> (classes, h * cells, w * cells)."""
        return self._to_cells(self.seg(patches).unflatten(-1, (self.task.cells**2, -1)))

    def regressed(self, patches: Tensor) -> Tensor:
        """(h, w, C) tokens -> (D, h * cells, w * cells)."""
        return self._to_cells(torch.stack([model(patches) for model in self.values], dim=2))

    def _to_cells(self, values: Tensor) -> Tensor:
        """(h, w, cells * cells, D) as a map."""
        height, width, _, channels = values.shape
        cells = self.task.cells
        return values.reshape(height, width, cells, cells, channels).permute(4, 0, 2, 1, 3).reshape(
            channels, height * cells, width * cells)


def fit(features: TensorStore, targets: TensorStore, numbers: Sequence[int], task: DenseTask,
        generator: torch.Generator) -> DenseHead:
    """Fit a probe on the pictures ``numbers``.

    Values are least squares; the penalty is chosen on every fifth picture where there are five or more. Classes are
    logistic regression on tokens drawn evenly from the pictures.
    """
    has_values, has_classes = bool(task.channels), bool(task.classes)
    sums: Optional[tuple[CellSums, CellSums]] = None
    drawn: list[Tensor] = []
    drawn_labels: list[Tensor] = []
    share = max(1, MOST_TOKENS // len(numbers))
    labels = targets.read('label', numbers) if has_classes else None
    values = zip(targets.read('values', numbers), targets.read('mask', numbers)) if has_values else None
    for place, (_, patches) in enumerate(features.read('patches', numbers)):
        x = patches.float().flatten(0, 1)
        if labels is not None:
            chosen = torch.randperm(len(x), generator=generator)[:share]
            drawn.append(x[chosen])
            drawn_labels.append(by_patch(next(labels)[1][..., None], task.cells)[chosen, :, 0])
        if values is not None:
            (_, value), (_, mask) = next(values)
            value, mask = by_patch(value.float(), task.cells), by_patch(mask[..., None], task.cells)[..., 0] > 0
            sums = sums or (CellSums(x.shape[1], task), CellSums(x.shape[1], task))
            sums[place % _PARTS == _PARTS - 1].add(x, value, mask)
    seg = _fit_classes(torch.cat(drawn), torch.cat(drawn_labels), task) if has_classes else None
    values_head = _fit_values(*(part.of_cells() for part in sums), len(numbers) >= _PARTS) if sums else ()
    return DenseHead(task, seg, values_head)


def _fit_classes(x: Tensor, labels: Tensor, task: DenseTask) -> Linear:
    labels = labels.long().masked_fill(labels == _IGNORED, -1)
    return fit_logistic(x, labels, len(task.classes), _SEG_STRENGTH)


class CellSums:
    """Sums for the values of each cell of a patch.

    Most patches have truth in all of their cells or in none, so the products of their features are added up once for
    all cells; those at the edges of people are added cell by cell.
    """

    def __init__(self, channels: int, task: DenseTask) -> None:
        self.cells, self.outputs = task.cells**2, task.channels
        self.whole = LeastSquares(channels, self.cells * task.channels)
        self.edges = [LeastSquares(channels, task.channels) for _ in range(self.cells)]

    def add(self, x: Tensor, values: Tensor, mask: Tensor) -> None:
        """Take (N, C) tokens, (N, cells, D) values and (N, cells) where they are in."""
        whole = mask.all(1)
        self.whole.add(x[whole], values[whole].flatten(1))
        for cell, sums in enumerate(self.edges):
            seen = mask[:, cell] & ~whole
            sums.add(x[seen], values[seen, cell])

    def of_cells(self) -> list[LeastSquares]:
        """The sums of each cell."""
        return [self.whole.outputs(slice(cell * self.outputs, (cell + 1) * self.outputs)) + edge
                for cell, edge in enumerate(self.edges)]


def _fit_values(learnt: Sequence[LeastSquares], held_out: Sequence[LeastSquares], can_choose: bool
                ) -> tuple[Linear, ...]:
    def score(strength: float) -> float:
        return -sum(other.error(one.solve(strength)) for one, other in zip(learnt, held_out))

    strength = choose_strength(STRENGTHS, score) if can_choose else _FEW_STRENGTH
    return tuple((one + other).solve(strength) for one, other in zip(learnt, held_out))


def fit_trivial(targets: TensorStore, numbers: Sequence[int], task: DenseTask, channels: int) -> DenseHead:
    """What does not look at the picture: the most frequent class, and the mean of each value."""
    counts = torch.zeros(256)
    total, seen = torch.zeros(task.channels, dtype=torch.float64), 0
    for _, label in targets.read('label', numbers) if task.classes else ():
        counts += torch.bincount(label.flatten().long(), minlength=256)
    for (_, value), (_, mask) in zip(targets.read('values', numbers), targets.read('mask', numbers)) \
            if task.channels else ():
        total += value[mask > 0].double().sum(0)
        seen += int((mask > 0).sum())
    cells = task.cells**2
    seg = Linear.constant(channels, counts[:len(task.classes)].repeat(cells)) if task.classes else None
    values = (Linear.constant(channels, (total / max(seen, 1)).float()),) * cells if task.channels else ()
    return DenseHead(task, seg, values)


def by_patch(values: Tensor, cells: int) -> Tensor:
    """(h * cells, w * cells, D) of the cells as (h * w, cells * cells, D)."""
    height, width, channels = values.shape
    return values.reshape(height // cells, cells, width // cells, cells, channels).permute(0, 2, 1, 3, 4).reshape(
        -1, cells * cells, channels)


def evaluate(heads: Mapping[str, DenseHead], features: TensorStore, truth: GroundTruth, numbers: Sequence[int],
             follow: Follow = lambda numbers: numbers) -> dict[str, dict[str, float]]:
    """Figures of each head over the pictures ``numbers``, at the size of the network's input; borders do not count.

    Keys are TASK/FIGURE. Truth and features are read once for all heads.
    """
    sums: defaultdict[str, defaultdict[str, Sums]] = defaultdict(lambda: defaultdict(dict))
    tokens = features.read('patches', numbers)
    for number in follow(numbers):
        fields, patches = truth[number], next(tokens)[1].float()
        for name, head in heads.items():
            for task, part in _measure(head, patches, fields).items():
                known = sums[name][task]
                sums[name][task] = {key: known[key] + value if known else value for key, value in part.items()}
    scores = {'seg': seg_scores, COARSE: seg_scores, 'normal': normal_scores, 'depth': depth_scores,
              'relief': depth_scores, 'albedo': albedo_scores}
    return {name: {f'{task}/{figure}': value for task, total in of_head.items()
                   for figure, value in scores[task](total).items()} for name, of_head in sums.items()}


def _measure(head: DenseHead, patches: Tensor, fields: BaseDataElement) -> dict[str, Sums]:
    """Sums of one picture, by task."""
    found: dict[str, Sums] = {}
    if head.seg is not None:
        predicted = _to_pixels(head.logits(patches), fields.sem_seg.shape).argmax(1)[0]
        found['seg'] = seg_sums(predicted, fields.sem_seg, len(head.task.classes))
        table = coarse_table(head.task.classes)
        if table is not None:
            found[COARSE] = seg_sums(table[predicted], table[fields.sem_seg], int(table[:_IGNORED].max()) + 1)
    if head.values and bool(fields.mask.any()):
        mask = fields.mask[None]
        values = _to_pixels(head.regressed(patches), mask.shape[-2:])
        parts = {name: values[:, place] for name, place in head.task.slices.items()}
        if 'normal' in parts:
            found['normal'] = normal_sums(parts['normal'], fields.normal[None], mask)
        if 'depth' in parts:
            depth = fields.depth[None]
            found['depth'] = depth_sums(parts['depth'].exp(), depth, mask)
            relief = parts['relief'] - parts['relief'][mask].median()
            found['relief'] = depth_sums(relief.exp() * depth[mask].median(), depth, mask)
        if 'albedo' in parts:
            found['albedo'] = albedo_sums(parts['albedo'].clamp(0, 1), fields.albedo[None], mask)
    return found


def _to_pixels(cells: Tensor, size: Sequence[int]) -> Tensor:
    """(D, a, b) -> (1, D, H, W)."""
    return F.interpolate(cells[None], size=tuple(size), mode='bilinear', align_corners=False)
