"""The whole pipeline: score, select, write, report. A run that was stopped goes on where it was."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np
from filelock import FileLock, Timeout
from mmengine.config import Config
from rich.console import Console

from sapiens2.curation.arguments import check_arguments
from sapiens2.curation.balance import Balance
from sapiens2.curation.chain import Chain
from sapiens2.curation.columns import NUMBER
from sapiens2.curation.duplicates import NearDuplicates
from sapiens2.curation.filters import moved
from sapiens2.curation.hints import broken_stages, hints
from sapiens2.curation.notes import NOTES, check_notes, read_notes, write_notes
from sapiens2.curation.plan import describe, sample_of
from sapiens2.curation.report import Run, write_report
from sapiens2.curation.score import SCORES, PartScorer, score
from sapiens2.curation.select import CHANGED, SELECTION, Selection, Selector, write_selection
from sapiens2.curation.settings import Settings
from sapiens2.curation.source import Source
from sapiens2.curation.write import SHARDS, ShardWriter, write_shards
from sapiens2.utils.atomic import check_folder
from sapiens2.utils.config import ConfigError
from sapiens2.utils.first_few import first_few
from sapiens2.utils.progress import progress_bar
from sapiens2.utils.suggest import unknown_name
from sapiens2.version import __version__

# Files of a run beside the notes, the scores, the selection and the shards.
REPORT, INDEX, LOCK = 'report.html', 'index', '.lock'
STEPS = ('score', 'select', 'write', 'report')
# Columns that writing needs.
_WRITTEN_BY = {'format': 'Decode', 'sha256': 'Hashes'}


class CurationRun:
    """One folder of results, made by one config.

    Args:
        cfg: entries of ``Settings``; others are variables of the config file.
        out: folder for everything that is written.
        limits: column, 'at_least' or 'at_most', and value, of limits in place of those of the config.

    Attributes:
        complaints: what went wrong with some of the images, and is known after a run.

    Raises:
        ConfigError: if an entry is missing or cannot work.
        OSError: if ``out`` cannot be written to.
    """

    def __init__(self, cfg: Config, out: Path, limits: Sequence[tuple[str, str, Any]] = ()) -> None:
        self.out = out.absolute()
        self.settings = settings = Settings.of(cfg)
        filters = functools.reduce(lambda before, limit: moved(before, *limit), limits, settings.filters)
        self.chain_cfg = {'stages': settings.stages, 'filters': list(filters), 'drop_early': settings.drop_early}
        self.chain = Chain(**self.chain_cfg)
        near, balance = settings.near_duplicates, settings.balance
        for name, component, given in (('near_duplicates', NearDuplicates, near), ('balance', Balance, balance)):
            check_arguments(name, component, given or {})
        self.selector = Selector(
            self.chain.filters, self.chain.made_by, None if near is None else NearDuplicates(**near), settings.quality,
            None if balance is None else Balance(**balance))
        self._check_columns()
        check_folder(self.out)
        self.source = Source(settings.source, self.out / INDEX)
        self.complaints: list[str] = []

    def _check_columns(self) -> None:
        """See that stages make what a selection needs."""
        columns = self.chain.columns
        if self.selector.balance is not None:
            self.selector.balance.check(columns)
        if self.selector.near is None:
            return
        for name in ('sha256', 'phash', 'phash_inner'):
            if name not in columns:
                raise ConfigError(f"near_duplicates: no stage makes {name!r}; add dict(type='Hashes') to the stages, "
                                  'or set near_duplicates=None')
        quality = self.settings.quality
        numbers = [name for name in self.chain.made_by if columns[name].holds == NUMBER]
        if quality not in columns:
            raise ConfigError('quality: ' + unknown_name(quality, numbers, 'column'))
        if quality not in numbers:
            raise ConfigError(f'quality: {quality!r} holds {columns[quality].holds} of each image, and what is best is '
                              f'told by a number; take one of {", ".join(numbers)}')

    def __call__(self, steps: Sequence[str], workers: int, engine: str, console: Console,
                 overwrite: bool = False) -> Selection:
        """Do these of ``STEPS``; what they need of the others must have been done.

        Args:
            steps: names.
            workers: processes at most.
            engine: 'local' or 'ray', for scoring.
            console: for progress and notes.
            overwrite: whether shards of another selection are replaced.

        Raises:
            ValueError: if the folder holds results of other images or stages, or shards of another selection, or
                another process works in it.
        """
        if 'write' in steps:
            for name, stage in _WRITTEN_BY.items():
                if name not in self.chain.columns:
                    raise ConfigError(f"writing needs the column {name!r}; add dict(type='{stage}') to the stages")
        self.out.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.out / LOCK, timeout=0):
                selection = self._run(steps, workers, engine, console, overwrite)
                self._remove_partial()
                return selection
        except Timeout as error:
            raise ValueError(f'{self.out}: another process curates there; wait for it, or give another --out') \
                from error

    def _remove_partial(self) -> None:
        """Remove what earlier runs have left that were killed while they wrote. Nobody else writes to a locked folder,
        so it may be as young as it likes.
        """
        for folder in (self.out, *(self.out / name for name in (INDEX, SCORES, SHARDS))):
            for path in folder.glob('.partial-*'):
                path.unlink(missing_ok=True)

    def _run(self, steps: Sequence[str], workers: int, engine: str, console: Console, overwrite: bool) -> Selection:
        self.complaints = []
        scorer, made_of = self._scorer('score' in steps)
        missing = scorer.check()
        if 'score' in steps:
            if made_of is not None:
                write_notes(self.out / NOTES, made_of)
            score(scorer, missing, workers, engine, console)
        elif missing:
            raise ValueError(f'{scorer.folder}: {len(missing)} of {len(scorer.parts())} parts are not scored; let the '
                             'step score finish first')
        scores = self.scores(scorer)
        selection = self._select(scores, console)
        writer = self._writer(scores, selection)
        others = writer.others()
        if 'write' in steps:
            if others and not overwrite:
                raise ValueError(f'{others}, and nothing was changed. Add --overwrite to replace them by those of this '
                                 'selection, or look at it first with --steps select report; scores are kept')
            if others:
                writer.clear()
            write_selection(self.out / SELECTION, selection, scores, self._rules())
            write_shards(writer, workers, console)
            others = ''
        elif others:
            console.print(f'{others}; --steps write with --overwrite replaces them by those of this one',
                          highlight=False, markup=False, soft_wrap=True)
        if not others:
            self._leave_out_changed(writer, selection)
        if 'select' in steps or 'write' in steps:
            write_selection(self.out / SELECTION, selection, scores, self._rules())
        if 'report' in steps:
            write_report(self.out / REPORT, Run(
                self.source, self.chain, self.selector, scores, selection, self.settings.part_size))
        return selection

    def _scorer(self, scores_now: bool) -> tuple[PartScorer, Optional[dict[str, Any]]]:
        """Of the images that are scored now, or were before, and what is to be noted unless it was.

        The source is not opened for what was scored before.
        """
        path, settings = self.out / NOTES, self.settings
        made = any(folder.is_dir() and any(folder.iterdir()) for folder in (self.out / SCORES, self.out / SHARDS))
        before = read_notes(path) if made else None  # notes of a run that made nothing bind nobody
        now: dict[str, Any] = {'version': __version__, 'source': settings.source, 'part_size': settings.part_size,
                               'stages': settings.stages,
                               'dropped_early': self.chain_cfg['filters'] if settings.drop_early else None}
        if scores_now or before is None:
            now = {**now, 'images': len(self.source), 'names': self.source.mark()}
        if before is not None:
            check_notes(path, before, now)
        images = (before or now)['images']
        return (PartScorer(self.source, images, self.chain_cfg, settings.part_size, self.out / SCORES),
                None if before else now)

    @staticmethod
    def scores(scorer: PartScorer) -> list[Path]:
        """Files of the first pass, in order."""
        return [scorer.path(part) for part in scorer.parts()]

    def plan(self, selection: Selection, counts: Sequence[int], price: float) -> str:
        """What ``counts`` images would take, from what these took; ``price`` is of an hour of one core."""
        scorer, _ = self._scorer(False)
        sample = sample_of(self.scores(scorer), selection, [limit.name for limit in self.selector.filters],
                           self.selector.near)
        return describe(sample, counts, price)

    def _select(self, scores: Sequence[Path], console: Console) -> Selection:
        with progress_bar(console, transient=True) as progress:
            bar = progress.add_task('comparing', total=None)
            selection = self.selector(
                scores, lambda done, total: progress.update(bar, completed=done, total=total))
        selection.notes += hints(scores, self.chain, self.selector, selection)
        for note in selection.notes:
            console.print(note, highlight=False, markup=False, soft_wrap=True)
        self.complaints += broken_stages(scores, selection)
        return selection

    def _writer(self, scores: Sequence[Path], selection: Selection) -> ShardWriter:
        order = selection.kept
        if self.settings.shuffle_seed is not None:
            order = np.random.default_rng(self.settings.shuffle_seed).permutation(order)
        return ShardWriter(self.source, scores, self.settings.part_size, self.out / SHARDS, self.settings.shard_size,
                           order)

    def _leave_out_changed(self, writer: ShardWriter, selection: Selection) -> None:
        """Note the images that could not be written, though they were selected."""
        left_out = list(writer.left_out())
        if left_out:
            selection.reason[[index for index, _, _ in left_out]] = CHANGED
            named = '; '.join(first_few([f'{name}: {reason}' for _, name, reason in left_out]))
            self.complaints.append(f'{len(left_out):,} images that were selected are not in the shards: {named}. When '
                                   f'they are as they were, remove {writer.folder}, and --steps write writes all anew')

    def _rules(self) -> dict[str, Any]:
        settings = self.settings
        return {'filters': self.chain_cfg['filters'], 'near_duplicates': settings.near_duplicates,
                'quality': settings.quality, 'balance': settings.balance}
