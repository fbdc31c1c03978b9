"""What ``sapiens2 data check`` shows while it runs and when it is done."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sapiens2.datasets.errors import WARNINGS, Fault, Kind
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.printable import printable
from sapiens2.utils.progress import progress_bar

Item = TypeVar('Item')


class CheckReport:
    """Progress, faults as they are found, and the table of all.

    Args:
        max_shown: faults of one kind that are named; the others are counted.
        strict: whether warnings count as errors.
        keep: whether all faults are kept for ``write_json``.

    Attributes:
        samples: that were read.
        seconds: that it took to read them.
    """

    def __init__(self, max_shown: int, strict: bool, keep: bool) -> None:
        self.max_shown = max_shown
        self.strict = strict
        self.samples = 0
        self.seconds = 0.0
        self.console = Console()
        self._counts: Counter[Kind] = Counter()
        self._first: dict[Kind, str] = {}
        self._seen: set[bytes] = set()
        self._kept: Optional[list[Fault]] = [] if keep else None

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(escape(printable(text)), highlight=False, soft_wrap=True)

    def add(self, fault: Fault) -> None:
        """Count ``fault``, and name it unless enough of its kind were named; the same one is taken once."""
        text = str(fault)
        # Millions of faults are kept apart in 16 bytes each, and no two of them are ever taken for one.
        key = hashlib.blake2b(f'{fault.kind.name} {text}'.encode('utf-8', 'surrogatepass'), digest_size=16).digest()
        if key in self._seen:
            return
        self._seen.add(key)
        self._counts[fault.kind] += 1
        self._first.setdefault(fault.kind, str(fault.place))
        if self._kept is not None:
            self._kept.append(fault)
        if self._counts[fault.kind] <= self.max_shown:
            head = '[red]error[/]' if self._counts_as_error(fault.kind) else '[yellow]warning[/]'
            self.console.print(f'{head} {escape(printable(text))}', highlight=False, soft_wrap=True)
        elif self._counts[fault.kind] == self.max_shown + 1:
            self.console.print(f'more of "{fault.kind.value}" are counted only; --max-shown names more',
                               style='dim', highlight=False)

    def follow(self, results: Iterable[Item], total: int) -> Iterator[Item]:
        """Pass ``results`` on with a progress bar."""
        start = time.perf_counter()
        with progress_bar(self.console, transient=True) as progress:
            bar = progress.add_task('reading', total=total)
            for result in results:
                self.samples += 1
                self.seconds = time.perf_counter() - start
                progress.advance(bar)
                yield result

    def _counts_as_error(self, kind: Kind) -> bool:
        return self.strict or kind not in WARNINGS

    @property
    def errors(self) -> int:
        """Faults that make the data unfit."""
        return sum(count for kind, count in self._counts.items() if self._counts_as_error(kind))

    def print_summary(self, workers: int, of_parts: Sequence[int]) -> None:
        """Print the table of kinds, what was read, and the verdict.

        Args:
            of_parts: samples that each data set has to be read.
        """
        if self._counts:
            table = Table('', 'kind', 'count', 'first in')
            table.columns[2].justify = 'right'
            for kind in sorted(self._counts, key=lambda kind: (not self._counts_as_error(kind), -self._counts[kind])):
                table.add_row('error' if self._counts_as_error(kind) else 'warning', kind.value,
                              str(self._counts[kind]), escape(printable(self._first[kind])))
            self.console.print(table)
        rate = self.samples / self.seconds if self.seconds else 0.0
        of = '' if self.samples == sum(of_parts) else f' of {sum(of_parts)}'
        self.say(f'{self.samples}{of} samples read in {self.seconds:.1f} s: {rate:.1f} a second, '
                 f'{rate / max(workers, 1):.1f} for each of {max(workers, 1)} processes.')
        if len(of_parts) > 1:
            self.say(f'Samples of each data set: {" + ".join(map(str, of_parts))}; a picture counts in each.')
        warnings = sum(self._counts.values()) - self.errors
        self.console.print('[green]No faults.[/]' if not self._counts else
                           f'{self.errors} errors, {warnings} warnings.', highlight=False)

    def write_json(self, path: Path, sources: Iterable[str], complete: bool) -> None:
        """Write all faults, with counts, to ``path``."""
        content: dict[str, Any] = {
            'sources': list(sources), 'complete': complete, 'samples': self.samples, 'seconds': round(self.seconds, 3),
            'errors': self.errors, 'counts': {kind.value: count for kind, count in self._counts.items()},
            'faults': [{
                'kind': fault.kind.value, 'severity': 'error' if self._counts_as_error(fault.kind) else 'warning',
                'file': fault.place if isinstance(fault.place, str) else fault.place.file,
                'id': '' if isinstance(fault.place, str) else fault.place.id,
                'field': fault.field, 'message': fault.message, 'remedy': fault.remedy} for fault in self._kept or ()]}
        with atomic_path(path) as partial:
            partial.write_text(json.dumps(content, indent=1), encoding='utf-8')
