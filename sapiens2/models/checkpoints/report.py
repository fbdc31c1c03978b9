"""What happened, or would happen, when weights are put into a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch

from sapiens2.models.checkpoints.source import Origin

MAX_ROWS = 6  # of one kind in the table


@dataclass
class LoadReport:
    """Names of parameters and buffers by their fate.

    Attributes:
        origin: the checkpoint.
        loaded: in the model and the file, in the same shape.
        missing: in the model, not in the file.
        unexpected: in the file, not in the model.
        misshapen: name, shape in the file, shape in the model.
        unused: in a part of the file that the model does not have on purpose: a decoder when a backbone is filled.
        computed: buffers that the file lacks and the model has computed itself.
        resized: position embeddings brought to another grid: name, grid in the file, grid in the model, as (h, w).
    """

    origin: Origin
    loaded: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    misshapen: list[tuple[str, torch.Size, torch.Size]] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    computed: list[str] = field(default_factory=list)
    resized: list[tuple[str, tuple[int, int], tuple[int, int]]] = field(default_factory=list)

    @property
    def matches(self) -> bool:
        """Whether every parameter is filled and everything meant for the model is used."""
        return not (self.missing or self.unexpected or self.misshapen)

    def summary(self) -> str:
        """One line."""
        counts = ', '.join(f'{len(getattr(self, kind))} {kind}' for kind in (
            'loaded', 'missing', 'unexpected', 'misshapen', 'unused', 'computed', 'resized')
            if getattr(self, kind) or kind == 'loaded')
        return f'{self.origin}: {counts}'

    def table(self) -> str:
        """The summary and a table of everything that was not simply loaded; blocks that agree share a row."""
        rows = []
        for kind in ('missing', 'unexpected', 'unused', 'computed'):
            rows += _shorten(kind, [(name, '') for name in collapse(getattr(self, kind))])
        shapes: dict[tuple[torch.Size, torch.Size], list[str]] = {}
        for name, file, model in self.misshapen:
            shapes.setdefault((file, model), []).append(name)
        rows += _shorten('misshapen', [(name, f'file {_show(file)}, model {_show(model)}')
                                       for (file, model), names in shapes.items() for name in collapse(names)])
        rows += [('resized', name, f'file {_show(file)}, model {_show(model)}') for name, file, model in self.resized]
        if not rows:
            return self.summary()
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f'  {kind:<{widths[0]}}  {name:<{widths[1]}}  {detail}'.rstrip() for kind, name, detail in rows]
        return '\n'.join([self.summary(), *lines])


def collapse(names: Iterable[str]) -> list[str]:
    """Shorten names that differ in one number each: a.0.b, a.1.b, a.2.b, a.5.b become a.{0-2,5}.b."""
    groups: dict[str, list[int]] = {}
    for name in names:
        found = re.search(r'(?<=\.)\d+(?=\.)', name)
        pattern = f'{name[:found.start()]}\0{name[found.end():]}' if found else name
        groups.setdefault(pattern, []).extend([int(found[0])] if found else [])
    return [pattern.replace('\0', _ranges(sorted(numbers))) for pattern, numbers in groups.items()]


def _ranges(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return '{' + ','.join(str(a) if a == b else f'{a}-{b}' for a, b in runs) + '}'


def _shorten(kind: str, rows: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    shown = [(kind, name, detail) for name, detail in rows[:MAX_ROWS]]
    return shown + ([(kind, f'... and {len(rows) - MAX_ROWS} more', '')] if len(rows) > MAX_ROWS else [])


def _show(shape: Iterable[int]) -> str:
    return '(' + ', '.join(map(str, shape)) + ')'
