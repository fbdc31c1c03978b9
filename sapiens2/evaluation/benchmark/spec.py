"""The specification of a benchmark: which rows there are, and that every entry of it means something."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import yaml

from sapiens2.evaluation.predictions import PredictionOptions
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError, check_names, unknown_name

# Entries that say how predictions are read; ``align`` is for networks, too.
PREDICTION_ENTRIES = tuple(entry.name for entry in dataclasses.fields(PredictionOptions))
_OF_PREDICTIONS = (*(name for name in PREDICTION_ENTRIES if name != 'align'), 'parameters', 'multiply_adds')


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        name: unique in the table.
        config: config file: the task, the test data and the metrics; with ``checkpoint`` also the network.
        checkpoint: weights in any format that ``sapiens2 test`` reads, or 'random'.
        predictions: in its place a folder of predictions, or a COCO results file.
        cfg_options: entries of the config to replace.
        seed: of random weights, and of the run. The config's if there is none.
        align: see ``PredictionOptions``, as the entries after it.
        parameters, multiply_adds: of the program that made the predictions, where they are known.
    """

    name: str
    config: str
    checkpoint: Optional[str] = None
    predictions: Optional[str] = None
    cfg_options: Mapping[str, Any] = field(default_factory=dict)
    seed: Optional[int] = None
    align: Optional[str] = None
    convention: Optional[str] = None
    missing: Optional[str] = None
    ending: Optional[str] = None
    label_map: Optional[str] = None
    depth_unit: Optional[float] = None
    true_camera: Optional[bool] = None
    parameters: Optional[int] = None
    multiply_adds: Optional[int] = None

    @property
    def prediction_options(self) -> PredictionOptions:
        """How its predictions are read."""
        return PredictionOptions(**self.given(PREDICTION_ENTRIES))

    def given(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Those of the entries ``names`` that the specification gives."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


ENTRIES = tuple(entry.name for entry in dataclasses.fields(Row))
_KINDS: dict[str, type] = {**dict.fromkeys(ENTRIES, str), 'cfg_options': dict, 'seed': int, 'depth_unit': float,
                           'true_camera': bool, 'parameters': int, 'multiply_adds': int}
_SAID = {str: 'text', int: 'a whole number', float: 'a number', bool: 'true or false',
         dict: 'entries of the config and their values'}


@dataclass(frozen=True)
class Spec:
    """A benchmark.

    Attributes:
        path: of its file.
        rows: in the order of the table.
        options: those of the entries ``cfg_options`` of all rows that the file does not hold.
    """

    path: Path
    rows: tuple[Row, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def chosen(self, names: list[str]) -> tuple[Row, ...]:
        """The rows called ``names``; all for none.

        Raises:
            UnknownNameError: for a row that there is not.
        """
        check_names(names, [row.name for row in self.rows], '--rows', 'row')
        return tuple(row for row in self.rows if not names or row.name in names)


def read_spec(path: Path, options: Mapping[str, Any] = {}) -> Spec:
    """Read the YAML file of a benchmark: ``rows``, a list of the entries of ``Row``, and ``cfg_options`` of all rows.

    Args:
        path: of the file.
        options: more ``cfg_options`` of all rows, in place of those of the file.

    Raises:
        ConfigError: naming the file, all rows with faults and what to do; files that are missing are faults, too.
    """
    if not path.is_file():
        raise ConfigError(f'{path}: does not exist: give the YAML file of a benchmark')
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path}: is no YAML file: {error}') from error
    if not isinstance(content, dict) or not isinstance(content.get('rows'), list) or not content['rows']:
        raise ConfigError(f'{path}: must hold `rows`, a list with at least one row: `name`, `config`, and `checkpoint` '
                          'or `predictions`')
    shared = content.get('cfg_options') or {}
    faults = [f'{path}: {fault}' for fault in _faults(content, shared)]
    if faults:
        raise ConfigError('\n'.join(faults))
    return Spec(path, tuple(Row(**{**entries, 'cfg_options': {**shared, **entries.get('cfg_options', {}), **options}})
                            for entries in content['rows']), options)


def _faults(content: Mapping[str, Any], shared: Any) -> Iterator[str]:
    for name in content:
        if name not in ('rows', 'cfg_options'):
            yield unknown_name(name, ('rows', 'cfg_options'), 'entry')
    if (fault := _kind_fault('cfg_options', shared)) is not None:
        yield f'cfg_options: {fault}'
    seen: set[str] = set()
    for number, entries in enumerate(content['rows'], 1):
        if not isinstance(entries, dict):
            yield f'row {number}: must be entries (name, config, ...), this is {entries!r}'
            continue
        place = f'row {number}' + (f' ({entries["name"]})' if isinstance(entries.get('name'), str) else '')
        faults = list(_row_faults(entries))
        file = file_name(str(entries.get('name')))
        if file in seen:
            faults.append(f'name: another row has it, too, or one that is the same as the name of a file ({file})')
        seen.add(file)
        yield from (f'{place}: {fault}' for fault in faults)


def _row_faults(entries: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with one row."""
    kinds_right = True
    for name, value in entries.items():
        if name not in ENTRIES:
            yield unknown_name(name, ENTRIES, 'entry')
        elif (fault := _kind_fault(name, value)) is not None:
            kinds_right = False
            yield f'{name}: {fault}'
    missing = [name for name in ('name', 'config') if name not in entries]
    if missing:
        yield f'{" and ".join(missing)}: missing'
    if ('checkpoint' in entries) == ('predictions' in entries):
        yield f'give either checkpoint ({RANDOM} for none), which is run, or predictions, which are read'
    if not kinds_right:
        return
    for name in ('config', 'checkpoint', 'predictions'):
        if name in entries and entries[name] != RANDOM and not Path(entries[name]).exists():
            yield f'{name}: {entries[name]!r} does not exist'
    unused = [name for name in _OF_PREDICTIONS if name in entries]
    if 'predictions' not in entries and unused:
        yield f'{", ".join(unused)}: of predictions, which are not given'
    try:
        PredictionOptions(**{name: entries[name] for name in PREDICTION_ENTRIES if entries.get(name) is not None})
    except (UnknownNameError, ValueError) as error:
        yield str(error).removeprefix('--')


def _kind_fault(name: str, value: Any) -> Optional[str]:
    kind = _KINDS[name]
    # A whole number is a number, and true is none.
    fits = isinstance(value, (kind, int) if kind is float else kind) and (kind is bool) == isinstance(value, bool)
    if fits and not (kind is str and not value.strip()):
        return None
    return f'must be {_SAID[kind]}, this is {value!r}'


def file_name(name: str) -> str:
    """``name`` without what file systems or shells take for something else."""
    return re.sub(r'[^\w.-]+', '_', name)
