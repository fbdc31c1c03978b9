"""First pass: every stage on every image, part by part; each part is one Parquet file that is whole or not there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from rich.console import Console

from sapiens2.curation.chain import Chain
from sapiens2.curation.columns import METADATA, Record, arrow_table
from sapiens2.curation.source import Source
from sapiens2.utils.atomic import atomic_path
from sapiens2.utils.parallel import results_of
from sapiens2.utils.progress import progress_bar

SCORES = 'scores'
_FIGURES = b'sapiens2_figures'


@dataclass
class PartScorer:
    """Scores one part and writes its file. It goes to the processes that work.

    Attributes:
        source: of the images.
        chain_cfg: arguments of ``Chain``.
        part_size: images of a part.
        folder: where the files go.
    """

    source: Source
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
        return range(-(-len(self.source) // self.part_size))

    def path(self, part: int) -> Path:
        """File of a part."""
        return self.folder / f'part-{part:07d}.parquet'

    def images_in(self, part: int) -> int:
        """Images of a part; the last may have fewer."""
        return min(self.part_size, len(self.source) - part * self.part_size)

    def read(self, part: int) -> list[Record]:
        """The records of a part, before any stage."""
        start = part * self.part_size
        metadata = any(METADATA in stage.inputs for stage in self.chain.stages)
        return [self.source.record(index, metadata) for index in range(start, start + self.images_in(part))]

    def write(self, part: int, records: list[Record], figures: Mapping[str, Any]) -> None:
        """Write the file of a part."""
        import pyarrow.parquet

        table = arrow_table(records, self.chain.columns)
        table = table.replace_schema_metadata({_FIGURES: json.dumps(figures).encode()})
        with atomic_path(self.path(part)) as partial:
            pyarrow.parquet.write_table(table, partial, compression='zstd')

    def __call__(self, part: int) -> int:
        """Score one part; the number of its images."""
        records = self.read(part)
        self.write(part, records, self.chain.run(records))
        return len(records)


def score(scorer: PartScorer, workers: int, engine: str, console: Console) -> None:
    """Score the parts that have no file yet.

    Args:
        scorer: of the parts.
        workers: processes of the engine 'local'.
        engine: 'local' or 'ray'.
        console: for progress.
    """
    parts = scorer.parts()
    missing = [part for part in parts if not scorer.path(part).exists()]
    total = len(scorer.source)
    done = total - sum(scorer.images_in(part) for part in missing)
    if not missing:
        console.print(f'all {total:,} images have been scored before', highlight=False)
        return
    results = _results(scorer, missing, min(workers, len(missing)), engine)
    with closing(results), progress_bar(console) as progress:
        bar = progress.add_task('scoring', total=total, completed=done)
        for part in results:
            progress.advance(bar, scorer.images_in(part))


def _results(scorer: PartScorer, parts: Iterable[int], workers: int, engine: str) -> Iterator[int]:
    """Numbers of parts as they are done."""
    if engine == 'ray':
        from sapiens2.curation.ray_data import score_on_ray
        yield from score_on_ray(scorer, parts)
        return
    with closing(results_of(scorer, parts, workers)) as results:
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
