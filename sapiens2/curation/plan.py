"""What a run on many more images takes, from what one on some images took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute
import pyarrow.parquet

from sapiens2.curation.score import figures_of
from sapiens2.curation.select import Selection
from sapiens2.utils.text_table import text_table

_HOUR, _TB, _GB = 3600, 1e12, 1e9
# Bytes that comparing duplicates holds for each image: two hashes, four keys, one sorted band.
_HASH_BYTES = 2 * 32 + 3 * 4 * 8


@dataclass(frozen=True)
class Sample:
    """What was measured on ``images`` images.

    Attributes:
        stages: name, share of all images that it was shown, seconds an image on one core.
        kept: share of the images that were kept.
        file_bytes: mean size of a file, as it was read.
        kept_bytes: mean size of a file that was kept.
        row_bytes: of a row of scores.
    """

    images: int
    stages: Sequence[tuple[str, float, float]]
    kept: float
    file_bytes: float
    kept_bytes: float
    row_bytes: float


def sample_of(paths: Sequence[Path], selection: Selection) -> Sample:
    """What the files of the first pass, and the selection, say."""
    images = len(selection.reason)
    stages = [(name, figures['images'] / images, figures['seconds'] / max(figures['images'], 1))
              for name, figures in figures_of(paths).items()]
    sizes = pyarrow.concat_tables(pyarrow.parquet.read_table(path, columns=['file_bytes']) for path in paths)
    of_all = pyarrow.compute.mean(sizes['file_bytes']).as_py() or 0.0
    of_kept = pyarrow.compute.mean(sizes['file_bytes'].take(selection.kept)).as_py() or 0.0
    return Sample(images, stages, len(selection.kept) / max(images, 1), of_all, of_kept,
                  sum(path.stat().st_size for path in paths) / max(images, 1))


def describe(sample: Sample, counts: Sequence[int], price: float) -> str:
    """Tables for so many images; ``price`` is of an hour of one core."""
    rows = [(name, f'{share:.1%}', f'{1000 * seconds:.1f}',
             *(f'{count * share * seconds / _HOUR:,.1f}' for count in counts))
            for name, share, seconds in sample.stages]
    hours = [sum(count * share * seconds for _, share, seconds in sample.stages) / _HOUR for count in counts]
    rows.append(('all stages', '', '', *(f'{value:,.1f}' for value in hours)))
    stages = text_table(('core-hours', 'is shown', 'ms an image', *(f'{count:,}' for count in counts)), rows)
    volumes = [
        ('images kept', [f'{count * sample.kept:,.0f}' for count in counts]),
        ('days on 1,000 cores', [f'{value / 24 / 1000:,.2f}' for value in hours]),
        (f'cost at {price:g} a core-hour', [f'{value * price:,.0f}' for value in hours]),
        ('read to score, TB', [f'{count * sample.file_bytes / _TB:,.2f}' for count in counts]),
        ('read again and written, TB', [f'{count * sample.kept * sample.kept_bytes / _TB:,.2f}' for count in counts]),
        ('scores, GB', [f'{count * sample.row_bytes / _GB:,.1f}' for count in counts]),
        ('memory to compare duplicates, GB', [f'{count * _HASH_BYTES / _GB:,.1f}' for count in counts]),
    ]
    others = text_table(('', *(f'{count:,}' for count in counts)), [(name, *values) for name, values in volumes])
    return (f'{stages}\n\n{others}\n\nFrom {sample.images:,} images, {sample.file_bytes / 1000:,.0f} KB each, on '
            'this machine. It is assumed that other images are as large, that rules leave out the same shares (of '
            'duplicates, larger sets have more), and that reading keeps up: 1,000 cores read '
            + f'{_read_rate(sample) / _GB:,.1f} GB a second.')


def _read_rate(sample: Sample) -> float:
    """Bytes a second that 1,000 cores read while they score."""
    seconds = sum(share * each for _, share, each in sample.stages)
    return 1000 * sample.file_bytes / seconds if seconds else 0.0
