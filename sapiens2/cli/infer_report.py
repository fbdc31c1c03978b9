"""What ``sapiens2 infer`` shows while it runs and when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


def _printable(text: str) -> str:
    """``text`` with escapes for what is no character: a file's name may hold line breaks and commands to terminals."""
    return ''.join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


@dataclass
class _Count:
    """What happened in one task."""

    images: int = 0
    failed: int = 0
    people: int = 0
    skipped_boxes: int = 0
    without_people: int = 0
    seconds: float = 0.0


@dataclass
class Report:
    """Progress bars, problems and the summary of one run.

    Attributes:
        problems: a line for each thing that was skipped.
    """

    problems: list[str] = field(default_factory=list)
    counts: dict[str, _Count] = field(default_factory=dict)
    # Progress and problems go to the error output, apart from what other programs may read.
    console: Console = field(default_factory=lambda: Console(stderr=True))

    def follow(self, task: str, results: Iterable[Mapping[str, Any]], total: int) -> Iterator[Mapping[str, Any]]:
        """Pass ``results`` on with a progress bar; count them, and name what was skipped at once."""
        count = self.counts.setdefault(task, _Count())
        start = time.perf_counter()
        columns = (TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                   TextColumn('left'), TimeRemainingColumn(), TextColumn('{task.fields[rate]}'))
        with Progress(*columns, console=self.console) as progress:
            bar = progress.add_task(task, total=total, rate='')
            for result in results:
                self._add(count, task, result)
                count.seconds = time.perf_counter() - start
                rate = count.images / count.seconds
                progress.update(bar, advance=1, rate=f'{rate:.2f} images/s' if rate >= 0.1
                                else f'{1 / rate:.0f} s/image')
                yield result

    def _add(self, count: _Count, task: str, result: Mapping[str, Any]) -> None:
        count.images += 1
        if result['error'] is not None:
            count.failed += 1
            self.add_problem(f'{task}: {result["error"]}')
        elif task == 'pose':
            count.people += len(result['keypoints'])
            count.without_people += result['message'] is not None
            count.skipped_boxes += len(result['skipped_boxes'])
            for text in result['skipped_boxes']:
                self.add_problem(f'{task}: {result["path"]}: {text}')

    def add_problem(self, text: str) -> None:
        """Name something that is skipped."""
        self.problems.append(text)
        self.console.print(f'[yellow]skipped[/] {escape(_printable(text))}', highlight=False, soft_wrap=True)

    def print_summary(self, folder: Path) -> None:
        """Print a table of all tasks, what is missing, and where the results are."""
        table = Table('task', 'images done', 'skipped', 'people', 'boxes skipped', 'nobody', 'seconds')
        for task, count in self.counts.items():
            pose = (count.people, count.skipped_boxes, count.without_people) if task == 'pose' else ('', '', '')
            table.add_row(task, str(count.images - count.failed), str(count.failed), *map(str, pose),
                          f'{count.seconds:.1f}')
        self.console.print(table)
        if self.problems:
            self.console.print(f'{len(self.problems)} problems, named above.', style='yellow')
        self.console.print(f'Results: {escape(str(folder))}', highlight=False, soft_wrap=True)
