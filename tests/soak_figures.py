"""What a process holds: samples of it while it runs, and whether it holds more and more."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

WARM_UP = 600


class Figure(NamedTuple):
    """Something that may grow.

    Attributes:
        key: of a sample.
        title: of a column.
        allowed: growth an hour that is no leak, in the figure's unit; for memory also this share of it.
        share: see ``allowed``.
    """

    key: str
    title: str
    allowed: float
    share: float = 0.0


# Memory of a process that allocates and frees moves by some per cent; one that leaks 8 MiB an hour runs for months.
FIGURES = (Figure('rss', 'RSS, MiB', 8, 0.02), Figure('anonymous', 'anonymous memory, MiB', 8, 0.02),
           Figure('handles', 'open files', 2), Figure('threads', 'threads', 2), Figure('processes', 'processes', 1),
           Figure('temporary', 'files in its folder for temporary files', 10))


def count_children(process: int) -> int:
    """Children of all threads of ``process``; a thread that ends while they are read has none."""
    count = 0
    for task in Path(f'/proc/{process}/task').iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            count += len((task / 'children').read_text(encoding='ascii').split())
    return count


def sample(process: int, temporary: Path) -> dict[str, Any]:
    """What ``process`` holds now, in MiB and numbers; ``processes`` counts its children, too.

    Raises:
        OSError: if it has ended.
    """
    memory = Path(f'/proc/{process}/smaps_rollup').read_text(encoding='ascii')
    pages = {name: int(words[0]) / 1024 for name, *words in (line.replace(':', '').split()
             for line in memory.splitlines()[1:])}
    status = dict(line.split(':', 1) for line in Path(f'/proc/{process}/status').read_text().splitlines())
    return {'rss': round(pages['Rss'], 1), 'anonymous': round(pages['Anonymous'], 1),
            'handles': len(os.listdir(f'/proc/{process}/fd')), 'threads': int(status['Threads']),
            'processes': 1 + count_children(process),
            'temporary': sum(len(files) for _, _, files in os.walk(temporary))}


class Diary:
    """Samples of the processes, one a line.

    Args:
        path: of the file, which is begun anew.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.start = path, time.monotonic()
        path.write_text('', encoding='utf-8')

    def add(self, job: str, figures: dict[str, Any]) -> None:
        line = {'job': job, 'seconds': round(time.monotonic() - self.start), **figures}
        with self.path.open('a', encoding='utf-8') as stream:
            stream.write(json.dumps(line) + '\n')


def read_diary(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Job -> its samples."""
    jobs: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding='utf-8').splitlines():
        entry = json.loads(line)
        jobs.setdefault(entry['job'], []).append(entry)
    return jobs


def growth(samples: Sequence[dict[str, Any]], figure: Figure) -> tuple[float, float, float, bool]:
    """Level after the warm-up and at the end (means of ten samples), slope an hour, and whether that is too much."""
    warm = [entry for entry in samples if entry['seconds'] >= WARM_UP and figure.key in entry]
    if len(warm) < 3:
        return np.nan, np.nan, np.nan, False
    hours, values = (np.array([entry[key] for entry in warm], float) for key in ('seconds', figure.key))
    slope = float(np.polyfit(hours / 3600, values, 1)[0])
    begin, end = float(values[:10].mean()), float(values[-10:].mean())
    return begin, end, slope, slope > max(figure.allowed, figure.share * begin)


def tables(path: Path) -> tuple[list[Table], bool]:
    """A table of each job in the file, and whether nothing grows."""
    shown, steady = [], True
    for job, samples in read_diary(path).items():
        last = samples[-1]
        counts = ', '.join(f'{name} {last[name]}' for name in ('done', 'refused', 'lost') if name in last)
        table = Table(title=f'{job}: {last["seconds"] / 3600:.2f} h, {len(samples)} samples; {counts}')
        for column in ('', f'after {WARM_UP // 60} min', 'at the end', 'slope an hour', 'verdict'):
            table.add_column(column)
        for figure in FIGURES:
            begin, end, slope, grows = growth(samples, figure)
            steady &= not grows
            table.add_row(figure.title, f'{begin:.1f}', f'{end:.1f}', f'{slope:+.1f}', 'GROWS' if grows else 'steady')
        shown.append(table)
    return shown, steady
