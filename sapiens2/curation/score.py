"""First pass: every stage on every image, part by part; each part is one Parquet file that is whole or not there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from rich.console import Console

from sapiens2.curation.chain import Chain
from sapiens2.curation.columns import ERROR, METADATA, Record, arrow_schema, arrow_table
from sapiens2.curation.processes import spread
from sapiens2.curation.source import Source
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.progress import progress_bar

if TYPE_CHECKING:
    import pyarrow.parquet

SCORES = 'scores'
_FIGURES, _PART_SIZE = b'sapiens2_figures', b'sapiens2_part_size'
_REMEDY = 'Remove it, and give the command with all steps again: that part is scored anew'


@dataclass
class PartScorer:
    """Scores one part and writes its file. It goes to the processes that work.

    Attributes:
        source: of the images.
        images: in it when it was scored first. It need not be opened for what has been scored.
        chain_cfg: arguments of ``Chain``.
        part_size: images of a part.
        folder: where the files go.
    """

    source: Source
    images: int
    chain_cfg: Mapping[str, Any]
    part_size: int
    folder: Path
    _chain: Optional[Chain] = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, '_chain': None}

    @property
    def chain(self) -> Chain:
        """The stages, built at first use in each process."""
        if self._chain is None:
            self._chain = Chain(**self.chain_cfg)
        return self._chain

    def parts(self) -> range:
        """Numbers of all parts."""
        return range(-(-self.images // self.part_size))

    def path(self, part: int) -> Path:
        """File of a part."""
        return self.folder / f'part-{part:07d}.parquet'

    def images_in(self, part: int) -> int:
        """Images of a part; the last may have fewer."""
        return min(self.part_size, self.images - part * self.part_size)

    def read(self, part: int) -> list[Record]:
        """The records of a part, before any stage.

        Raises:
            DataError: if it is the source that is gone, which says nothing of images.
        """
        start = part * self.part_size
        metadata = any(METADATA in stage.inputs for stage in self.chain.stages)
        records = [self.source.record(index, metadata) for index in range(start, start + self.images_in(part))]
        if any(ERROR in record for record in records):
            self.source.check_there()
        return records

    def write(self, part: int, records: list[Record], figures: Mapping[str, Any]) -> None:
        """Write the file of a part."""
        import pyarrow.parquet

        table = arrow_table(records, self.chain.columns)
        table = table.replace_schema_metadata({
            _FIGURES: json.dumps(figures).encode(), _PART_SIZE: str(self.part_size).encode()})
        with atomic_path(self.path(part)) as partial:
            pyarrow.parquet.write_table(table, partial, compression='zstd')

    def __call__(self, part: int) -> int:
        """Score one part; the number of its images."""
        records = self.read(part)
        self.write(part, records, self.chain.run(records))
        return len(records)

    def check(self) -> list[int]:
        """See that the files that are there are parts of this run; numbers of those that are not there.

        Raises:
            ValueError: naming the file, and what is wrong with it.
        """
        missing = []
        expected = set(arrow_schema(self.chain.columns).names)
        for part in self.parts():
            path = self.path(part)
            if not path.exists():
                missing.append(part)
                continue
            content = read_footer(path)
            schema = content.schema.to_arrow_schema()
            size = (schema.metadata or {}).get(_PART_SIZE, b'').decode()
            lacking = sorted(expected.difference(schema.names))
            if size and size != str(self.part_size):
                raise ValueError(f'{path}: was made with part_size={size}, not {self.part_size}. Set part_size={size}, '
                                 'or give another --out')
            if lacking:
                raise ValueError(f'{path}: lacks the columns {", ".join(lacking)}. {_REMEDY}')
            if content.num_rows != self.images_in(part):
                raise ValueError(f'{path}: has {content.num_rows} rows, and should have {self.images_in(part)}. '
                                 f'{_REMEDY}')
        return missing


def read_footer(path: Path) -> pyarrow.parquet.FileMetaData:
    """What a part says of itself.

    Raises:
        ValueError: naming the file, if it is damaged.
    """
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        if getattr(error, 'errno', None) is not None:  # of the file system; what pyarrow says of content has none
            raise
        raise ValueError(f'{path}: is damaged, {path.stat().st_size:,} bytes that are no Parquet file. {_REMEDY}') \
            from error


def score(scorer: PartScorer, missing: Sequence[int], workers: int, engine: str, console: Console) -> None:
    """Score the parts that have no file yet.

    Args:
        scorer: of the parts.
        missing: numbers of these parts.
        workers: processes of the engine 'local', at most.
        engine: 'local' or 'ray'.
        console: for progress.
    """
    total = scorer.images
    done = total - sum(scorer.images_in(part) for part in missing)
    if not missing:
        console.print(f'all {total:,} images have been scored before', highlight=False)
        return
    results = _results(scorer, missing, workers, engine, console)
    with closing(results), progress_bar(console) as progress:
        bar = progress.add_task('scoring', total=total, completed=done)
        for part in results:
            progress.advance(bar, scorer.images_in(part))


def _results(scorer: PartScorer, parts: Sequence[int], workers: int, engine: str, console: Console) -> Iterator[int]:
    """Numbers of parts as they are done."""
    if engine == 'ray':
        from sapiens2.curation.ray_data import score_on_ray
        yield from score_on_ray(scorer, parts)
        return
    with closing(spread(scorer, parts, workers, console)) as results:
        for part, _ in results:
            yield part


def figures_of(paths: Iterable[Path]) -> dict[str, dict[str, float]]:
    """Sums of what ``Chain.run`` gave, over parts."""
    import pyarrow.parquet

    sums: dict[str, dict[str, float]] = {}
    for path in paths:
        content = pyarrow.parquet.read_schema(path).metadata.get(_FIGURES, b'{}')
        for stage, figures in json.loads(content).items():
            of_stage = sums.setdefault(stage, {})
            for name, value in figures.items():
                of_stage[name] = of_stage.get(name, 0) + value
    return sums


def unknown_columns(paths: Iterable[Path], names: Sequence[str]) -> list[str]:
    """Those of the columns that are empty in all rows, by the statistics that Parquet files keep."""
    unknown = set(names)
    for path in paths:
        if not unknown:
            break
        content = read_footer(path)
        for group in range(content.num_row_groups):
            rows = content.row_group(group)
            for number in range(rows.num_columns):
                column = rows.column(number)
                name = column.path_in_schema.split('.')[0]
                if name in unknown and (column.statistics is None or column.statistics.null_count < rows.num_rows):
                    unknown.discard(name)
    return [name for name in names if name in unknown]
