"""Rows that are ready to be measured: their configs are read, and all rows of a task have the same data and metrics."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from mmengine.config import Config

from sapiens2.cli.run_options import option
from sapiens2.engine.launch import check_data
from sapiens2.evaluation.benchmark.dependencies import depends_on, digest_of
from sapiens2.evaluation.benchmark.spec import PREDICTION_ENTRIES, Row, Spec, file_name
from sapiens2.models.checkpoints.build import RANDOM
from sapiens2.utils.config import ConfigError, load_config
from sapiens2.utils.differences import differences
from sapiens2.utils.tasks import task_of

# Entries of a data set that belong to the network: what it is given of the same pictures.
_OF_NETWORK = ('pipeline', 'pipeline_options')
_DIGITS = 12


@dataclass(frozen=True)
class Job:
    """A row with what it needs.

    Attributes:
        row: of the specification.
        task: of its config.
        data: the data set, in words.
        command: that gives its figures.
        depends_on: see there.
        folder: of its results, another one whenever something changes that it depends on.
    """

    row: Row
    task: str
    data: str
    command: str
    depends_on: Mapping[str, str]
    folder: Path

    @property
    def result_path(self) -> Path:
        """The file that is there when it is done."""
        return self.folder / 'result.json'

    @property
    def error_path(self) -> Path:
        """The file that says why it could not be done."""
        return self.folder / 'error.txt'

    def result(self) -> Optional[dict[str, Any]]:
        """Of ``measure``; None if it is not done."""
        return json.loads(self.result_path.read_text(encoding='utf-8')) if self.result_path.exists() else None

    def changed(self) -> list[str]:
        """What has changed since it was measured last; nothing if it never was."""
        earlier = [path for path in self.folder.parent.glob(f'{file_name(self.row.name)}-*/job.json')
                   if path.parent != self.folder and (path.parent / self.result_path.name).exists()]
        if not earlier:
            return []
        noted = json.loads(max(earlier, key=lambda path: path.stat().st_mtime).read_text(encoding='utf-8'))
        return [name for name, value in self.depends_on.items() if noted['depends_on'].get(name) != value]


def prepare_jobs(spec: Spec, out: Path,
                 follow: Callable[[Iterable[Row]], Iterable[Row]] = lambda rows: rows) -> list[Job]:
    """Read the configs of all rows, and compare what they measure.

    Args:
        spec: of ``read_spec``.
        out: folder of the benchmark.
        follow: sees the rows pass by, for progress: reading the weights takes a while where they are large.

    Raises:
        ConfigError: naming the row, and a config that cannot work, data that are missing, or an entry in which it
            measures something else than an earlier row of its task.
    """
    configs: dict[str, tuple[str, Config]] = {}
    first: dict[str, tuple[str, dict[str, Any]]] = {}
    for row in spec.rows:
        try:
            cfg = load_config(row.config, row.cfg_options)
            task = task_of(cfg)
            check_data(cfg, 'test_dataloader')
        except ValueError as error:
            raise ConfigError(f'{spec.path}: {row.name}: {error}') from error
        if row.align not in (None, 'none') and task != 'pointmap':
            raise ConfigError(f'{spec.path}: {row.name}: align: is for pointmaps and depth, its task is {task}')
        owner, known = first.setdefault(task, (row.name, _measured(cfg)))
        different = next(differences(known, _measured(cfg)), None)
        if different is not None:
            raise ConfigError(f'{spec.path}: {row.name}: {different[0]} is not that of {owner!r}, and rows of one task '
                              'must have the same data and metrics: set it in cfg_options, or make two benchmarks')
        configs[row.name] = task, cfg
    jobs = []
    for row in follow(spec.rows):
        task, cfg = configs[row.name]
        depends = depends_on(row, cfg)
        folder = out / 'rows' / f'{file_name(row.name)}-{_short(depends)}'
        jobs.append(Job(row, task, _data_name(cfg), command(row, spec, out), depends, folder))
    return jobs


def _measured(cfg: Config) -> dict[str, Any]:
    dataset = cfg.test_dataloader.dataset.to_dict()
    return {'test_dataloader': {'dataset': {name: value for name, value in dataset.items() if name not in _OF_NETWORK}},
            'test_evaluator': cfg.to_dict()['test_evaluator']}


def _data_name(cfg: Config) -> str:
    dataset = cfg.test_dataloader.dataset
    prefix = dataset.get('data_prefix') or {}
    return Path(dataset.get('data_root') or '', dataset.get('ann_file') or prefix.get('img_path') or '').as_posix()


def command(row: Row, spec: Spec, out: Path) -> str:
    """The command that gives the figures of ``row``."""
    if row.checkpoint == RANDOM:  # `sapiens2 test` measures files
        return shlex.join(['python', 'tools/benchmark.py', str(spec.path), '--out', str(out), '--rows', row.name,
                           *_option_words(spec.options)])
    words = ['sapiens2', 'test', row.config]
    words += ['--predictions', row.predictions] if row.predictions is not None else [row.checkpoint]
    for name, value in row.given(PREDICTION_ENTRIES).items():
        words += [f'--{name.replace("_", "-")}', *([] if value is True else [str(value)])] if value is not False else []
    options = dict(row.cfg_options) | ({} if row.seed is None else {'randomness.seed': row.seed})
    return shlex.join([*words, *_option_words(options)])


def _option_words(options: Mapping[str, Any]) -> list[str]:
    return ['--cfg-options', *(_option_text(key, value) for key, value in options.items())] if options else []


def _option_text(key: str, value: Any) -> str:
    """KEY=VALUE that is read as ``value``."""
    plain = f'{key}={value}'
    return plain if isinstance(value, str) and option(plain)[1] == value else f'{key}={value!r}'


def _short(depends: Mapping[str, str]) -> str:
    return digest_of(json.dumps(depends, sort_keys=True))[:_DIGITS]
