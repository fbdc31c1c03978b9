"""Second pass: from the columns alone, which images are kept. Models are not run again when limits move."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np

from sapiens2.curation.balance import Balance
from sapiens2.curation.columns import DROPPED, ERROR, LAST, NAME, bytes_of
from sapiens2.curation.duplicates import NearDuplicates, best_of_groups, groups_of
from sapiens2.curation.filters import Limit
from sapiens2.utils.atomic import atomic_path

SELECTION = 'selection.parquet'
KEPT = 'kept'
QUARANTINE, EXACT, NEAR, BALANCE, UNSCORED = 'quarantine', 'equal file', 'near duplicate', 'balance', 'not scored'
CHANGED = 'changed since scored'
_HASHES = ('sha256', 'phash', 'phash_inner')


@dataclass
class Selection:
    """What becomes of each image, in the order of the source.

    Attributes:
        reason: (N,) why it is left out, as text; 'kept' if it is not.
        duplicate_of: (N,) the image that is kept in its place, or -1.
        cluster: (N,) of the embeddings, or -1.
        notes: what the user should know besides.
    """

    reason: np.ndarray
    duplicate_of: np.ndarray
    cluster: np.ndarray
    notes: list[str] = field(default_factory=list)

    @property
    def kept(self) -> np.ndarray:
        """Numbers of the images that are kept."""
        return np.flatnonzero(self.reason == KEPT)

    def counts(self) -> dict[str, int]:
        """Images for each reason."""
        names, counts = np.unique(self.reason.astype(str), return_counts=True)
        return dict(zip(names.tolist(), counts.tolist()))


@dataclass
class Selector:
    """The rules of a selection, applied in this order: quarantine, filters, duplicates, balance.

    Attributes:
        filters: limits on columns, in the order of the stages that make these.
        made_by: column -> number of this stage.
        near: how near duplicates are; None keeps them, as it does equal files.
        quality: column by which the best of several duplicates is kept; the first of equal ones.
        balance: None keeps all that are left.
    """

    filters: Sequence[Limit]
    made_by: Mapping[str, int]
    near: Optional[NearDuplicates]
    quality: str
    balance: Optional[Balance]

    def columns(self) -> list[str]:
        """Columns that are read."""
        names = [ERROR, DROPPED, LAST, *(limit.column for limit in self.filters)]
        if self.near is not None:
            names += [*_HASHES, self.quality]
        if self.balance is not None:
            names += self.balance.columns()
        return list(dict.fromkeys(names))

    def __call__(self, paths: Sequence[Path], progress: Optional[Callable[[int, int], None]] = None) -> Selection:
        """Select from the files of the first pass, in order."""
        table = read_scores(paths, self.columns())
        count = table.num_rows
        selection = Selection(np.full(count, KEPT, dtype=object), np.full(count, -1), np.full(count, -1))
        self._drop(selection, QUARANTINE, ~_is_null(table, ERROR))
        # Images that were dropped while they were scored, under limits that have been loosened since, have no value in
        # columns of later stages, which is not the fault of the limits on these.
        dropped = ~_is_null(table, DROPPED)
        last = table.column(LAST).fill_null(-1).to_numpy()
        for limit in self.filters:
            self._drop(selection, UNSCORED, dropped & (last < self.made_by[limit.column]))
            self._drop(selection, limit.name, ~limit.mask(table.column(limit.column)))
        self._drop(selection, UNSCORED, dropped)
        self._note_unscored(selection, table)
        if self.near is not None:
            self._deduplicate(selection, table, progress)
        if self.balance is not None and len(selection.kept):
            left = selection.kept
            given = table.take(left)
            selection.notes += self.balance.notes(given)
            chosen, clusters = self.balance(given)
            selection.cluster[left] = clusters
            selection.reason[np.setdiff1d(left, left[chosen])] = BALANCE
        return selection

    @staticmethod
    def _drop(selection: Selection, reason: str, mask: np.ndarray) -> None:
        selection.reason[mask & (selection.reason == KEPT)] = reason

    def _note_unscored(self, selection: Selection, table: Any) -> None:
        """How many images have not been seen by stages that count now."""
        unscored = selection.reason == UNSCORED
        if unscored.any():
            early = table.column(DROPPED).filter(unscored).unique().to_pylist()
            selection.notes.append(
                f'{int(unscored.sum()):,} images pass the limits as they are now, but were dropped while they were '
                f'scored ({", ".join(sorted(early))}), so later stages have not seen them. To have them scored, give '
                'another --out with these limits.')

    def _deduplicate(self, selection: Selection, table: Any, progress: Optional[Callable[[int, int], None]]) -> None:
        left = selection.kept
        if not len(left):
            return
        values = table.take(left)
        quality = values.column(self.quality).to_numpy(zero_copy_only=False).astype(np.float64)
        quality = np.nan_to_num(quality, nan=-np.inf)
        codes = values.column('sha256').dictionary_encode()  # the chunks share one dictionary
        exact = np.concatenate([chunk.indices.to_numpy() for chunk in codes.chunks])
        self._keep_best(selection, left, exact, quality, EXACT)
        pairs = self.near.pairs(*(bytes_of(values.column(name)) for name in ('phash', 'phash_inner')), progress)
        self._keep_best(selection, left, groups_of(pairs, len(left)), quality, NEAR)

    @staticmethod
    def _keep_best(selection: Selection, left: np.ndarray, groups: np.ndarray, quality: np.ndarray,
                   reason: str) -> None:
        best = best_of_groups(groups, quality)
        others = (best != np.arange(len(left))) & (selection.reason[left] == KEPT)
        selection.reason[left[others]] = reason
        selection.duplicate_of[left[others]] = left[best[others]]


def write_selection(path: Path, selection: Selection, scores: Sequence[Path], rules: Any) -> None:
    """Write what becomes of each image, with the rules in the metadata.

    Args:
        path: of the file.
        selection: of the images.
        scores: files of the first pass, which know their names.
        rules: of the selection.
    """
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({
        'index': np.arange(len(selection.reason)), 'name': read_scores(scores, [NAME])[NAME],
        'reason': pyarrow.array(selection.reason, pyarrow.string()),
        'duplicate_of': selection.duplicate_of, 'cluster': selection.cluster})
    table = table.replace_schema_metadata({b'sapiens2_rules': json.dumps(rules).encode()})
    with atomic_path(path) as partial:
        pyarrow.parquet.write_table(table, partial, compression='zstd')


def read_scores(paths: Sequence[Path], columns: Sequence[str]) -> Any:
    """These columns of files of the first pass, as a table."""
    import pyarrow
    import pyarrow.parquet

    return pyarrow.concat_tables(pyarrow.parquet.read_table(path, columns=list(columns)) for path in paths)


def _is_null(table: Any, name: str) -> np.ndarray:
    return table.column(name).is_null().to_numpy()
