"""What ``sapiens2 infer`` shows while it runs and when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from rich.console import Console
from rich.markup import escape
from rich.progress import TextColumn
from rich.table import Table

from sapiens2.utils.printable import printable
from sapiens2.utils.progress import progress_bar


@dataclass
class _Count:
    """What happened in one task."""

    images: int = 0
    failed: int = 0
    finished_before: int = 0
    people: int = 0
    skipped_boxes: int = 0
    boxes_below_threshold: int = 0
    without_people: int = 0
    seconds: float = 0.0


@dataclass
class Report:
    """Progress bars, problems and the summary of one run.

    Attributes:
        box_thr: score below which boxes were left out, for the texts.
        problems: a line for each thing that was skipped.
    """

    box_thr: float = 0.3
    problems: list[str] = field(default_factory=list)
    counts: dict[str, _Count] = field(default_factory=dict)
    has_frames: bool = False
    # Progress and problems go to the error output, apart from what other programs may read.
    console: Console = field(default_factory=lambda: Console(stderr=True))

    def follow(self, name: str, results: Iterable[Mapping[str, Any]],
               total: Optional[int]) -> Iterator[Mapping[str, Any]]:
        """Pass ``results`` on with a progress bar; count them, and name what was skipped at once."""
        made = 0
        start = time.perf_counter()
        before = {task: count.seconds for task, count in self.counts.items()}
        with progress_bar(self.console, TextColumn('{task.fields[rate]}')) as progress:
            bar = progress.add_task(name, total=total, rate='')
            for result in results:
                count = self.counts.setdefault(result['task'], _Count())
                self._add(count, result)
                seconds = time.perf_counter() - start
                count.seconds = before.get(result['task'], 0.0) + seconds
                made += 'finished_before' not in result
                rate = made / seconds
                progress.update(bar, advance=1, rate=_rate(rate))
                yield result

    def _add(self, count: _Count, result: Mapping[str, Any]) -> None:
        task = result['task']
        count.images += 1
        self.has_frames |= result.get('frame') is not None
        if result['error'] is not None:
            count.failed += 1
            self.add_problem(f'{task}: {result["error"]}')
            return
        count.finished_before += 'finished_before' in result
        if task == 'pose' and 'message' in result:  # journals of older runs tell nothing of people
            count.people += result['people'] if 'people' in result else len(result['bboxes'])
            count.without_people += result['message'] is not None
            count.skipped_boxes += len(result['skipped_boxes'])
            count.boxes_below_threshold += result['boxes_below_threshold']
            for text in result['skipped_boxes']:
                self.add_problem(f'{task}: {result["path"]}: {text}')

    def add_problem(self, text: str) -> None:
        """Name something that is skipped."""
        self.problems.append(text)
        self.console.print(f'[yellow]skipped[/] {escape(printable(text))}', highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Say something that is no problem."""
        self.console.print(escape(printable(text)), highlight=False, soft_wrap=True)

    def print_summary(self, folder: Path) -> None:
        """Print a table of all tasks, what is missing, and where the results are."""
        table = Table('task', 'images done', 'skipped', 'people', 'boxes left out', 'no people', 'seconds')
        for task, count in self.counts.items():
            pose = (count.people, count.skipped_boxes + count.boxes_below_threshold, count.without_people) \
                if task == 'pose' else ('', '', '')
            table.add_row(task, str(count.images - count.failed), str(count.failed), *map(str, pose),
                          f'{count.seconds:.1f}')
        self.console.print(table)
        for task, count in self.counts.items():
            if count.boxes_below_threshold:
                self.console.print(f'{task}: boxes left out because their score is below {self.box_thr:g} (--box-thr): '
                                   f'{count.boxes_below_threshold}', style='yellow', highlight=False, soft_wrap=True)
            if count.without_people:
                place = '"message" in the JSON of each' + (
                    ", of a frame in its line of the film's .jsonl," if self.has_frames else '')
                self.console.print(f'{task}: images without people ({place} says why): {count.without_people}',
                                   style='yellow', highlight=False, soft_wrap=True)
            if count.finished_before:
                self.console.print(f'{task}: finished before by the same model and settings (--overwrite makes them '
                                   f'again): {count.finished_before}', highlight=False, soft_wrap=True)
        if self.problems:
            several = 's' if len(self.problems) > 1 else ''
            self.console.print(f'{len(self.problems)} problem{several}, named above.', style='yellow')
        self.console.print(f'Results: {escape(str(folder))}', highlight=False, soft_wrap=True)


def _rate(rate: float) -> str:
    return '' if rate == 0 else f'{rate:.2f} images/s' if rate >= 0.1 else f'{1 / rate:.0f} s/image'
