"""The whole pipeline: score, select, write, report. A run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from mmengine.config import Config
from rich.console import Console

from sapiens2.curation.balance import Balance
from sapiens2.curation.chain import Chain
from sapiens2.curation.duplicates import NearDuplicates
from sapiens2.curation.plan import describe, sample_of
from sapiens2.curation.report import Run, write_report
from sapiens2.curation.score import SCORES, PartScorer, score
from sapiens2.curation.select import SELECTION, Selection, Selector, write_selection
from sapiens2.curation.source import Source
from sapiens2.curation.write import SHARDS, ShardWriter, write_shards
from sapiens2.utils.atomic import atomic_path, check_folder
from sapiens2.utils.config import ConfigError
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import unknown_name
from sapiens2.version import __version__

# Files of a run beside the scores, the selection and the shards.
NOTES, REPORT, INDEX, LOCK = 'curation.json', 'report.html', 'index', '.lock'
STEPS = ('score', 'select', 'write', 'report')
# Entries of a config, and what they are by default.
DEFAULTS: dict[str, Any] = {
    'source': None, 'stages': None, 'filters': [], 'drop_early': True, 'part_size': 256,
    'near_duplicates': {}, 'quality': 'shorter_side', 'balance': None, 'shard_size': 1000, 'shuffle_seed': 0}


class CurationRun:
    """One folder of results, made by one config.

    Args:
        cfg: entries of ``DEFAULTS``; others are variables of the config file.
        out: folder for everything that is written.

    Raises:
        ConfigError: if an entry is missing or cannot work.
        OSError: if ``out`` cannot be written to.
    """

    def __init__(self, cfg: Config, out: Path) -> None:
        self.out = out.absolute()
        self.cfg = {name: cfg.get(name, default) for name, default in DEFAULTS.items()}
        for name in ('source', 'stages'):
            if not self.cfg[name]:
                raise ConfigError(f'the config has no {name}: give it one as in configs/curation')
        check_folder(self.out)
        self.chain_cfg = {name: _plain(self.cfg[name]) for name in ('stages', 'filters', 'drop_early')}
        self.chain = Chain(**self.chain_cfg)
        self.selector = Selector(
            self.chain.filters, None if self.cfg['near_duplicates'] is None
            else NearDuplicates(**self.cfg['near_duplicates']), self.cfg['quality'],
            None if self.cfg['balance'] is None else Balance(**self.cfg['balance']))
        for name in self.selector.columns():
            if name not in self.chain.columns:
                raise ConfigError('selection: ' + unknown_name(name, self.chain.columns, 'column'))
        self.source = Source(_plain(self.cfg['source']), self.out / INDEX)
        self.scorer = PartScorer(self.source, self.chain_cfg, self.cfg['part_size'], self.out / SCORES)

    def __call__(self, steps: Sequence[str], workers: int, engine: str, console: Console) -> Selection:
        """Do these of ``STEPS``; what they need of the others must have been done.

        Raises:
            ValueError: if the folder holds results of other images or stages, or another process works in it.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.out / LOCK, timeout=0):
                self._note()
                if 'score' in steps:
                    score(self.scorer, workers, engine, console)
                selection = self._select(console)
                if 'select' in steps:
                    write_selection(self.out / SELECTION, selection, self._rules())
                writer = self._writer(selection)
                if 'write' in steps and len(writer.order):
                    write_shards(writer, workers, console)
                if 'report' in steps:
                    write_report(self.out / REPORT, Run(
                        self.source, self.chain, self.selector, self.scores(), selection, self.cfg['part_size']))
        except Timeout as error:
            raise ValueError(f'{self.out}: another process curates there; wait for it, or give another --out') \
                from error
        return selection

    def _note(self) -> None:
        """Note what the scores are made of, and compare it with what was noted before."""
        made_of = {'version': __version__, 'source': _plain(self.cfg['source']), 'images': len(self.source),
                   'names': self.source.mark(), 'part_size': self.cfg['part_size'],
                   'stages': self.chain_cfg['stages'],
                   'dropped_early': self.chain_cfg['filters'] if self.cfg['drop_early'] else None}
        path = self.out / NOTES
        if path.exists():
            before = json.loads(path.read_text(encoding='utf-8'))
            different = [name for name in ('images', 'names', 'part_size', 'stages') if before[name] != made_of[name]]
            if different:
                raise ValueError(
                    f'{self.out}: holds scores that were made with other {", ".join(different)} '
                    f'({before[different[0]]!r} there, {made_of[different[0]]!r} now). Give another --out to score '
                    'anew; filters, duplicates, balance and shards can be changed in the same folder')
            return
        with atomic_path(path) as partial:
            partial.write_text(json.dumps(made_of, indent=2), encoding='utf-8')

    def scores(self) -> list[Path]:
        """Files of the first pass, in order."""
        return [self.scorer.path(part) for part in self.scorer.parts()]

    def plan(self, selection: Selection, counts: Sequence[int], price: float) -> str:
        """What ``counts`` images would take, from what these took; ``price`` is of an hour of one core."""
        sample = sample_of(self.scores(), selection, [limit.name for limit in self.selector.filters],
                           self.selector.near)
        return describe(sample, counts, price)

    def _select(self, console: Console) -> Selection:
        missing = sum(not path.exists() for path in self.scores())
        if missing:
            raise ValueError(f'{self.out / SCORES}: {missing} of {len(self.scores())} parts are not scored; '
                             'let the step score finish first')
        with progress_bar(console, transient=True) as progress:
            bar = progress.add_task('comparing', total=None)
            selection = self.selector(
                self.scores(), lambda done, total: progress.update(bar, completed=done, total=total))
        for note in selection.notes:
            console.print(note, highlight=False, markup=False, soft_wrap=True)
        return selection

    def _writer(self, selection: Selection) -> ShardWriter:
        order = selection.kept
        if self.cfg['shuffle_seed'] is not None:
            order = np.random.default_rng(self.cfg['shuffle_seed']).permutation(order)
        return ShardWriter(self.source, self.scores(), self.cfg['part_size'], self.out / SHARDS, self.cfg['shard_size'],
                           order)

    def _rules(self) -> dict[str, Any]:
        return {name: _plain(self.cfg[name]) for name in ('filters', 'near_duplicates', 'quality', 'balance')}


def _plain(value: Any) -> Any:
    """Configurations as JSON has them, so that they can be compared and sent to other processes."""
    return json.loads(json.dumps(value.to_dict() if isinstance(value, Config) else value))
