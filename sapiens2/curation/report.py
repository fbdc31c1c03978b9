"""What a run kept and why, with examples: one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import cv2
import numpy as np

from sapiens2.curation.balance import CLUSTER, Partition
from sapiens2.curation.chain import Chain
from sapiens2.curation.distribution import Distribution
from sapiens2.curation.score import figures_of
from sapiens2.curation.columns import ERROR, NAME
from sapiens2.curation.select import (BALANCE, CHANGED, EXACT, KEPT, NEAR, QUARANTINE, UNSCORED, Selection, Selector,
                                      read_scores)
from sapiens2.curation.sizes import at_most
from sapiens2.curation.source import Source
from sapiens2.datasets.errors import DataError
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.encoded_image import EncodedImage, reduction_for
from sapiens2.utils.image_errors import ImageReadError
from sapiens2.visualization.html_report import heading, page, paragraph, pictures, table

_EXAMPLES, _THUMBNAIL = 6, 140
_MOST_REASONS = 12


@dataclass(frozen=True)
class Run:
    """What a report is about."""

    source: Source
    chain: Chain
    selector: Selector
    paths: Sequence[Path]
    selection: Selection
    part_size: int

    def scored(self, index: int, column: str) -> str:
        """A text that the scores have of an image."""
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(self.paths[index // self.part_size], columns=[column])
        return table[column][index % self.part_size].as_py()


def write_report(path: Path, run: Run) -> None:
    """Write the report to ``path``."""
    parts = [_summary(run), heading('What became of the images'), _funnel(run), heading('Stages'), _stages(run),
             *_balance(run), heading('Examples'), _examples(run), heading('Quarantine'), _quarantine(run)]
    with atomic_path(path) as partial:
        partial.write_text(page('Curated images', parts), encoding='utf-8')


def funnel_rows(run: Run) -> list[tuple[str, int, int]]:
    """Rule, images it leaves out, and images left after it, in the order of the rules."""
    counts = run.selection.counts()
    order = [QUARANTINE, *(limit.name for limit in run.selector.filters), UNSCORED, EXACT, NEAR, BALANCE,
             CHANGED]
    left = len(run.selection.reason)
    rows = []
    for reason in dict.fromkeys(order):
        dropped = counts.get(reason, 0)
        left -= dropped
        if dropped or reason not in (UNSCORED, CHANGED):
            rows.append((reason, dropped, left))
    return rows


def _summary(run: Run) -> str:
    total, kept = len(run.selection.reason), len(run.selection.kept)
    text = f'{kept:,} of {total:,} images of {run.source.cfg["data_root"]} are kept ({kept / max(total, 1):.1%}).'
    return paragraph(text) + ''.join(paragraph(note, note=True) for note in run.selection.notes)


def _funnel(run: Run) -> str:
    total = max(len(run.selection.reason), 1)
    return table(('rule', 'left out', 'images left', 'share of all'), [
        ('all images', '', f'{total:,}', '100.0%'),
        *((reason, f'{dropped:,}', f'{left:,}', f'{left / total:.1%}') for reason, dropped, left in funnel_rows(run))],
        'Rules in order; an image is counted at the first one that leaves it out.')


def _stages(run: Run) -> str:
    rows = [(name, f'{figures["images"]:,.0f}', f'{figures["failed"]:,.0f}', f'{figures["dropped"]:,.0f}',
             f'{figures["images"] / figures["seconds"]:,.1f}' if figures['seconds'] else '-')
            for name, figures in figures_of(run.paths).items()]
    return table(('stage', 'images', 'failed', 'dropped after it', 'images a second and process'), rows,
                 'While the images were scored. Images that an earlier rule dropped are not shown to later stages.')


def distributions(run: Run) -> list[Distribution]:
    """Of each attribute, and of the coarsest clusters, among the images that balance was given."""
    balance, reason = run.selector.balance, run.selection.reason
    if balance is None:
        return []
    given = np.flatnonzero((reason == KEPT) | (reason == CHANGED) | (reason == BALANCE))
    partitions = []
    if balance.attributes:
        partitions = balance.partitions(read_scores(run.paths, list(balance.attributes)).take(given))
    clusters = run.selection.cluster[given]
    if len(given) and clusters.min() >= 0:
        count = int(clusters.max()) + 1
        partitions.append(Partition(CLUSTER, [str(number) for number in range(count)], clusters, np.ones(count)))
    return [Distribution.of(partition, reason[given] != BALANCE) for partition in partitions]


def _balance(run: Run) -> list[str]:
    found = [one for one in distributions(run) if len(one.labels)]
    if not found:
        return []
    parts = [heading('Balance'), table(
        ('by', 'bins', 'entropy before', 'after', 'of the target', 'divergence from the target'),
        [one.summary() for one in found],
        'Bits. The more even, the larger is the entropy; what a set has too few of cannot be made up for.')]
    for one in found:
        parts += [f'<h3>{escape(one.name)}</h3>', one.bars()]
        if one.name != CLUSTER:
            parts.append(table(('bin', 'images before', 'share', 'images after', 'share', 'asked for'), one.rows()))
    return [*parts, paragraph('Bars: share before (grey) and after (blue); red lines: what was asked for.')]


def _examples(run: Run) -> str:
    reasons = [reason for reason, dropped, _ in funnel_rows(run) if dropped and reason != QUARANTINE][:_MOST_REASONS]
    rows = []
    for reason in [KEPT, *reasons]:
        cells: list[np.ndarray | str] = []
        names: list[str] = []
        numbers = np.flatnonzero(run.selection.reason == reason)
        for index in _spread(numbers, _EXAMPLES // 2 if reason in (EXACT, NEAR) else _EXAMPLES):
            original = int(run.selection.duplicate_of[index])
            picture = _thumbnail(run, int(index))
            cells.append(picture if original < 0 or isinstance(picture, str)
                         else _beside(picture, _thumbnail(run, original)))
            names.append(' | '.join(run.scored(number, NAME) for number in (int(index), original) if number >= 0))
        rows += [(reason, cells), ('', names)]
    return pictures([str(number + 1) for number in range(_EXAMPLES)], rows) + paragraph(
        'Duplicates: the one left out, beside the one that is kept.')


def _quarantine(run: Run) -> str:
    numbers = np.flatnonzero(run.selection.reason == QUARANTINE)
    if not len(numbers):
        return paragraph('No image.')
    rows = [(run.scored(int(index), NAME), run.scored(int(index), ERROR)) for index in _spread(numbers, 30)]
    return table(('image', 'reason'), rows,
                 f'{len(rows)} of {len(numbers)}; all are in the files of scores, column error.')


def _spread(numbers: np.ndarray, count: int) -> np.ndarray:
    """Some of them, from the first to the last."""
    return numbers[np.unique(np.linspace(0, len(numbers) - 1, min(count, len(numbers))).astype(int))] if len(numbers) \
        else numbers


def _thumbnail(run: Run, index: int) -> np.ndarray | str:
    """The picture, or why there is none: the source may have changed, or be gone, since it was scored."""
    name = run.scored(index, NAME)
    try:
        encoded = EncodedImage(run.source.find(index, name), name)
        return at_most(encoded.decode(reduction_for(max(encoded.size) / _THUMBNAIL)), _THUMBNAIL)
    except ImageReadError as error:
        return error.reason
    except DataError as error:
        return str(error)


def _beside(one: np.ndarray, other: np.ndarray | str) -> np.ndarray:
    if isinstance(other, str):
        return one
    height = max(one.shape[0], other.shape[0])
    return np.hstack([cv2.copyMakeBorder(picture, 0, height - picture.shape[0], 0, 4, cv2.BORDER_CONSTANT,
                                         value=(255, 255, 255)) for picture in (one, other)])
