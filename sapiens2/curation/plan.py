"""What a run on many more images takes, from what one on some images took."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy as np

from sapiens2.curation.duplicates import MOST, NearDuplicates
from sapiens2.curation.score import figures_of
from sapiens2.curation.select import BALANCE, EXACT, KEPT, NEAR, QUARANTINE, Selection
from sapiens2.utils.text_table import text_table

_HOUR, _TB, _GB = 3600, 1e12, 1e9
# Cores of a machine, for hours of machines; and of a cluster, for days.
_MACHINE, _CLUSTER = 64, 1000
# Bytes that are gathered for each image that is compared: three hashes; and that comparing holds for it at the peak,
# those included (measured by benchmarks/curation_duplicates.py).
_HASH_BYTES, _COMPARED_BYTES = 3 * 32, 3 * 32 + 150
# Images whose comparison is timed.
_TIMED = 20_000
# Of images from the web that are copies: LAION-2B has about 30 % (Webster et al., "On the de-duplication of LAION-2B",
# 2023). A sample that is small shows few of them.
_WEB_COPIES = 0.3
_DRAWS, _RANGE = 4000, (5, 95)
# Images that a stage must have seen for its figures to be trusted.
_SAMPLE = 200


@dataclass(frozen=True)
class StageCost:
    """Of a stage: the share of all images that it was shown, and what one of these takes.

    Attributes:
        name: of the stage.
        share: of all images.
        core_seconds, gpu_seconds: of processors, and of graphics processors that are held meanwhile.
        images: that it was shown.
    """

    name: str
    share: float
    core_seconds: float
    gpu_seconds: float
    images: int

    def hours(self, count: int, seconds: float) -> str:
        """Of ``count`` images of the source, at ``seconds`` for one that it is shown."""
        return f'{count * self.share * seconds / _HOUR:,.1f}' if self.images else '-'

    def rate(self, seconds: float) -> str:
        """Images in a second; of a stage that has seen none it is not known."""
        return f'{1 / seconds:,.1f}' if self.images and seconds else '-'


@dataclass(frozen=True)
class Sample:
    """What was measured on ``images`` images.

    Attributes:
        stages: in order.
        dropped: rule -> images that it leaves out, in order; the last are duplicates and balance.
        file_bytes: mean size of a file, as it was read.
        kept_bytes: mean size of a file that was kept.
        row_bytes: of a row of scores.
        compare_seconds: of a core to compare an image with all others, over log2 of their number; 0 if none is.
    """

    images: int
    stages: Sequence[StageCost]
    dropped: dict[str, int]
    file_bytes: float
    kept_bytes: float
    row_bytes: float
    compare_seconds: float

    @property
    def kept(self) -> float:
        """Share of the images that were kept."""
        return self._left(())

    @property
    def compared(self) -> float:
        """Share of the images that are left when duplicates are looked for."""
        return self._left((EXACT, NEAR, BALANCE))

    def _left(self, but: Sequence[str]) -> float:
        lost = sum(count for rule, count in self.dropped.items() if rule not in but)
        return 1 - lost / max(self.images, 1)

    def core_hours(self, count: int) -> float:
        """Of all stages and of comparing ``count`` images."""
        stages = sum(count * stage.share * stage.core_seconds for stage in self.stages) / _HOUR
        return stages + self.compare_hours(count)

    def compare_hours(self, count: int) -> float:
        """Core-hours of looking for duplicates among what is left of ``count`` images."""
        compared = count * self.compared
        return compared * math.log2(max(compared, 2)) * self.compare_seconds / _HOUR

    def simulated(self, seed: int = 0) -> np.ndarray:
        """(draws,) shares of kept images that agree with the sample: of few images they are known roughly.

        The shares of all rules are drawn from the Dirichlet distribution that follows from the counts and from
        Jeffreys' prior.
        """
        counts = np.array([*self.dropped.values(), round(self.images * self.kept)], dtype=float)
        return np.random.default_rng(seed).dirichlet(counts + 0.5, _DRAWS)[:, -1]


def sample_of(paths: Sequence[Path], selection: Selection, rules: Sequence[str] = (),
              near: Optional[NearDuplicates] = None) -> Sample:
    """What the files of the first pass, and the selection, say.

    Args:
        paths: of these files.
        selection: what became of the images.
        rules: names of the filters, in their order.
        near: how duplicates are looked for; that is timed.
    """
    import pyarrow.compute
    import pyarrow.parquet

    images = len(selection.reason)
    stages = []
    for name, figures in figures_of(paths).items():
        shown = max(figures['images'], 1)
        stages.append(StageCost(name, figures['images'] / max(images, 1), figures['core_seconds'] / shown,
                                figures['gpu_seconds'] / shown, int(figures['images'])))
    counts = selection.counts()
    order = dict.fromkeys(
        [QUARANTINE, *rules, *sorted(set(counts) - {EXACT, NEAR, BALANCE, KEPT}), EXACT, NEAR, BALANCE])
    sizes = pyarrow.concat_tables(pyarrow.parquet.read_table(path, columns=['file_bytes']) for path in paths)
    of_all = pyarrow.compute.mean(sizes['file_bytes']).as_py() or 0.0
    of_kept = pyarrow.compute.mean(sizes['file_bytes'].take(selection.kept)).as_py() or 0.0
    return Sample(images, stages, {rule: counts.get(rule, 0) for rule in order}, of_all, of_kept,
                  sum(path.stat().st_size for path in paths) / max(images, 1), 0.0 if near is None else _timed(near))


def _timed(near: NearDuplicates) -> float:
    """Core-seconds of comparing an image, over log2 of the number of images; of hashes drawn at random."""
    hashes = np.random.default_rng(0).integers(0, 256, (2, _TIMED, 32), dtype=np.uint8)
    start = time.process_time()
    near.pairs(*hashes)
    return (time.process_time() - start) / _TIMED / math.log2(_TIMED)


def describe(sample: Sample, counts: Sequence[int], price: float) -> str:
    """Tables for so many images; ``price`` is of an hour of one core."""
    header = [f'{count:,}' for count in counts]
    parts = [_work(sample, counts, header), _funnel(sample, counts, header), _volumes(sample, counts, header, price),
             _assumptions(sample, counts)]
    return '\n\n'.join(parts)


def _work(sample: Sample, counts: Sequence[int], header: Sequence[str]) -> str:
    """Hours of processors of each stage."""
    rows = [(stage.name, f'{stage.share:.1%}', stage.rate(stage.core_seconds),
             *(stage.hours(count, stage.core_seconds) for count in counts)) for stage in sample.stages]
    if sample.compare_seconds:
        rows.append(('duplicates', f'{sample.compared:.1%}', '-',
                     *(f'{sample.compare_hours(count):,.1f}' for count in counts)))
    rows.append(('all', '', '', *(f'{sample.core_hours(count):,.1f}' for count in counts)))
    held = [stage for stage in sample.stages if stage.gpu_seconds]
    rows += [(f'{stage.name}, GPU-hours', f'{stage.share:.1%}', stage.rate(stage.gpu_seconds),
              *(stage.hours(count, stage.gpu_seconds) for count in counts)) for stage in held]
    return text_table(('core-hours', 'is shown', 'images/s and core', *header), rows)


def _funnel(sample: Sample, counts: Sequence[int], header: Sequence[str]) -> str:
    """Images that are left after each rule."""
    left, rows = sample.images, [('all images', '', *header)]
    for rule, dropped in sample.dropped.items():
        left -= dropped
        rows.append((rule, f'{dropped / max(sample.images, 1):.1%}',
                     *(f'{count * left / max(sample.images, 1):,.0f}' for count in counts)))
    shares = sample.simulated()
    low, high = np.percentile(shares, _RANGE)
    rows += [('kept, at least', f'{low:.1%}', *(f'{count * low:,.0f}' for count in counts)),
             ('kept, at most', f'{high:.1%}', *(f'{count * high:,.0f}' for count in counts))]
    if sample.compare_seconds:
        # Balance then takes its share of what is left.
        balanced = sample.kept / max(sample.kept + sample.dropped[BALANCE] / max(sample.images, 1), 1e-12)
        web = sample.compared * (1 - _WEB_COPIES) * balanced
        rows.append((f'kept, if {_WEB_COPIES:.0%} are copies', f'{web:.1%}',
                     *(f'{count * web:,.0f}' for count in counts)))
    return text_table(('images left after', 'left out', *header), rows)


def _volumes(sample: Sample, counts: Sequence[int], header: Sequence[str], price: float) -> str:
    """Time, cost, and what is moved and held."""
    hours = [sample.core_hours(count) for count in counts]
    kept = [count * sample.kept * sample.kept_bytes for count in counts]
    scores = [count * sample.row_bytes for count in counts]
    compared = [count * sample.compared for count in counts]
    rows = [
        ('images kept', [f'{count * sample.kept:,.0f}' for count in counts]),
        (f'hours of machines of {_MACHINE} cores', [f'{value / _MACHINE:,.1f}' for value in hours]),
        (f'days on {_CLUSTER:,} cores', [f'{value / 24 / _CLUSTER:,.2f}' for value in hours]),
        (f'cost at {price:g} a core-hour', [f'{value * price:,.0f}' for value in hours]),
        ('read to score, TB', [f'{count * sample.file_bytes / _TB:,.2f}' for count in counts]),
        ('shuffle: read again and written, TB', [f'{value / _TB:,.2f}' for value in kept]),
        ('storage of kept images and scores, TB', [f'{(one + other) / _TB:,.2f}' for one, other in zip(kept, scores)]),
        ('of that scores, GB', [f'{value / _GB:,.1f}' for value in scores]),
    ]
    if sample.compare_seconds:
        rows += [('gathered to compare duplicates, GB', [f'{value * _HASH_BYTES / _GB:,.1f}' for value in compared]),
                 ('memory to compare duplicates, GB', [f'{value * _COMPARED_BYTES / _GB:,.1f}' for value in compared])]
    return text_table(('', *header), [(name, *values) for name, values in rows])


def _assumptions(sample: Sample, counts: Sequence[int]) -> str:
    seconds = sum(stage.share * stage.core_seconds for stage in sample.stages)
    rate = _CLUSTER * sample.file_bytes / seconds if seconds else 0.0
    text = (f'From {sample.images:,} images, {sample.file_bytes / 1000:,.0f} KB each, on this machine. It is assumed '
            'that other images are as large, that rules leave out the same shares, that reading keeps up ('
            f'{_CLUSTER:,} cores read {rate / _GB:,.1f} GB a second), that all cores cost the same, and '
            'that nothing is paid for storage, network and graphics processors. "at least" and "at most" are the '
            f'limits of {_RANGE[1] - _RANGE[0]} % of {_DRAWS:,} simulated funnels that agree with the sample as far '
            'as it is large enough to tell. Duplicates are compared by one process; larger sets have more than a '
            'sample shows.')
    unseen = [stage.name for stage in sample.stages if not stage.images]
    if unseen:
        text += f' {", ".join(unseen)} has seen no image, so core-hours, days and cost are lower bounds.'
    few = [f'{stage.name} {stage.images:,}' for stage in sample.stages if 0 < stage.images < _SAMPLE]
    if few:
        text += f' The sample is small: images that stages were shown: {", ".join(few)}; a thousand say more.'
    if sample.compare_seconds and max(counts) * sample.compared > MOST:
        text += (f' More than {MOST:,} images cannot be compared at a time: split the source there, and curate what '
                 'is kept of the parts once more.')
    return text
