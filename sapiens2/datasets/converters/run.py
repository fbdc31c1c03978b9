"""Run a converter: in parallel, with a progress bar, resumable, naming everything that is left out."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Optional

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sapiens2.datasets.converters.base import Converter, Item
from sapiens2.datasets.errors import DataError
from sapiens2.datasets.json_files import read_json
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.image_io import ImageReadError
from sapiens2.utils.parallel import results_of
from sapiens2.utils.progress import progress_bar

RECORD = 'conversion.json'
SKIPPED = 'skipped.txt'


@dataclass
class Count:
    """What became of the samples of one split."""

    converted: int = 0
    kept: int = 0


@dataclass
class Summary:
    """What a run did.

    Attributes:
        counts: of each split.
        problems: a line for everything that was left out.
    """

    counts: dict[str, Count] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def run(converter: Converter, splits: Sequence[str], workers: int = 1, limit: Optional[int] = None,
        console: Optional[Console] = None) -> Summary:
    """Convert ``splits``.

    Samples that are complete are kept. What is left out is named at once, and in ``skipped.txt`` of the target.

    Args:
        converter: of the data set.
        splits: names out of ``converter.SPLITS``.
        workers: processes; up to 1 works in this one.
        limit: most items of each split.
        console: for progress and problems.

    Raises:
        DataError: if the source lacks the expected layout, or the target holds the result of other options.
        OSError: if a file cannot be written.
    """
    console = console or Console(stderr=True)
    summary = Summary()
    # All splits are listed before the work on the first begins, so that what cannot work is said at once.
    todo = {split: _listed(converter, split, limit) for split in splits}
    _check_record(converter)
    for split, items in todo.items():
        count = summary.counts[split] = Count()
        for item, problems in _follow(split, items, converter, count, workers, console):
            count.converted += sum(converter.sample(item, name).complete() for name in item.names)
            _report(problems, summary, console)
        _report(converter.finish(split), summary, console)
    with atomic_path(converter.target / SKIPPED) as partial:
        partial.write_text(''.join(line + '\n' for line in summary.problems), encoding='utf-8')
    return summary


def print_summary(summary: Summary, converter: Converter, console: Console) -> None:
    """Print a table of the splits and how much was left out."""
    table = Table('split', 'samples converted', 'kept', title=converter.TITLE)
    for split, count in summary.counts.items():
        table.add_row(split, f'{count.converted:,}', f'{count.kept:,}')
    console.print(table)
    if summary.problems:
        console.print(f'{len(summary.problems):,} problems, named above and in {converter.target / SKIPPED}',
                      style='yellow', highlight=False, soft_wrap=True)


def _listed(converter: Converter, split: str, limit: Optional[int]) -> list[Item]:
    try:
        items = list(itertools.islice(converter.items(split), limit))
    except DataError as error:
        raise DataError(f'split {split!r}: {error} (--split chooses another)') from error
    if not items:
        raise DataError(f'split {split!r}: nothing to convert in {converter.source}; choose another --split, or '
                        'another --val-share where the set has it')
    return items


def _follow(split: str, items: Sequence[Item], converter: Converter, count: Count, workers: int,
            console: Console) -> Iterator[tuple[Item, list[str]]]:
    """Convert what is not there yet, with a progress bar; each item with its problems as it is done."""
    with progress_bar(console) as progress:
        bar = progress.add_task(f'{converter.NAME} {split}', total=len(items))

        def missing() -> Iterator[Item]:
            for item in items:
                if converter.is_done(item):
                    count.kept += len(item.names)
                    progress.advance(bar)
                else:
                    yield item

        for result in results_of(functools.partial(_convert, converter), missing(), workers):
            progress.advance(bar)
            yield result


def _convert(converter: Converter, item: Item) -> list[str]:
    try:
        return converter.convert(item)
    except (DataError, ImageReadError) as error:
        return [str(error)]


def _report(problems: Sequence[str], summary: Summary, console: Console) -> None:
    for text in problems:
        line = ' '.join(text.split())
        summary.problems.append(line)
        console.print(f'[yellow]problem[/] {escape(line)}', highlight=False, soft_wrap=True)


def _check_record(converter: Converter) -> None:
    """Note set and options in the target, or compare with what was noted: results of two kinds must not mix."""
    path = converter.target / RECORD
    # As JSON gives it back.
    record = json.loads(json.dumps({'set': converter.NAME, 'options': converter.options}))
    if not path.exists():
        with atomic_path(path) as partial:
            partial.write_text(json.dumps(record), encoding='utf-8')
    elif (noted := read_json(str(path))) != record:
        raise DataError(f'{path}: this folder holds {noted}, and now {record} is asked for; give another folder, or '
                        'remove this one')
