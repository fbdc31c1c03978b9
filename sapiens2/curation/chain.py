"""All stages on one part of the images, in one process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import cv2

from sapiens2.curation.arguments import check_arguments
from sapiens2.curation.columns import BASE, CONTENT, DROPPED, ERROR, LAST, Column, Record
from sapiens2.curation.filters import Limit
from sapiens2.curation.stage import Stage
from sapiens2.registry import CURATION_FILTERS, CURATION_STAGES, Registry, build_from
from sapiens2.utils.config import ConfigError
from sapiens2.utils.suggest import UnknownNameError, unknown_name

# What a strange picture may make a stage raise; anything else is a fault of the program and ends it.
FAULTS_OF_RECORDS = (ValueError, ArithmeticError, cv2.error)
# A stage that fails on more of a part's images than this is broken itself.
MOST_FAILED = 0.5
_FEW = 20


class StageBrokenError(RuntimeError):
    """A stage fails on most images, so it is not the images."""


class Chain:
    """Stages in order, with the filters whose columns they make.

    Args:
        stages: stages, or configurations of them.
        filters: filters, or configurations of them.
        drop_early: whether an image that a filter drops is not shown to later stages. That saves most of the time, but
            when limits are loosened afterwards, these images have to be scored again.

    Raises:
        ValueError: if two stages make one column, or a column is used that no stage before makes.
    """

    def __init__(self, stages: Sequence[Union[Stage, Mapping[str, Any]]],
                 filters: Sequence[Union[Limit, Mapping[str, Any]]] = (), drop_early: bool = True) -> None:
        self.stages: list[Stage] = [
            _built(CURATION_STAGES, stage, f'stages.{number}') for number, stage in enumerate(stages)]
        self.filters: list[Limit] = [
            _built(CURATION_FILTERS, limit, f'filters.{number}') for number, limit in enumerate(filters)]
        self.drop_early = drop_early
        self.columns: dict[str, Column] = dict(BASE)
        self._filters_after: dict[int, list[Limit]] = defaultdict(list)
        # Column -> number of the stage that makes it.
        self.made_by: dict[str, int] = {}
        for number, stage in enumerate(self.stages):
            for name in stage.inputs:
                if name not in self.columns:
                    raise UnknownNameError(
                        f'stages.{number} ({stage.name}) needs a column that no stage before it makes: '
                        + unknown_name(name, self.columns, 'column'))
            for name, column in stage.outputs.items():
                if name in self.columns:
                    raise ValueError(
                        f'stages.{number} ({stage.name}) makes the column {name!r}, which is there already')
                self.columns[name], self.made_by[name] = column, number
        for number, limit in enumerate(self.filters):
            if limit.column not in self.made_by:
                raise UnknownNameError(f'filters.{number}: ' + unknown_name(limit.column, self.made_by, 'column'))
            try:
                limit.check(self.columns[limit.column])
            except ValueError as error:
                raise ConfigError(f'filters.{number}: {error}') from error
            self._filters_after[self.made_by[limit.column]].append(limit)
        # In the order in which they are applied here, so that a selection counts images at the same ones.
        self.filters = [limit for number in range(len(self.stages)) for limit in self._filters_after[number]]
        self._ready = 0

    def groups(self) -> Iterator[tuple[range, float, float]]:
        """Stages that the same processes of a cluster run: their numbers, processors and graphics processors."""
        first = 0
        for number in range(1, len(self.stages) + 1):
            if number == len(self.stages) or self.stages[number].num_gpus != self.stages[first].num_gpus:
                members = range(first, number)
                yield (members, max(self.stages[member].num_cpus for member in members), self.stages[first].num_gpus)
                first = number

    def run(self, records: list[Record], numbers: Union[range, None] = None) -> dict[str, dict[str, float]]:
        """Let the stages of these numbers (all by default) add their columns to ``records`` in place.

        Returns:
            Of each stage: 'images' it was shown, 'seconds' it took, 'core_seconds' of processors meanwhile (of all
            threads of this process) and 'gpu_seconds' that graphics processors were held, 'failed' images, and
            'dropped' after it.
        """
        figures = {}
        for number in range(len(self.stages)) if numbers is None else numbers:
            stage = self.stages[number]
            if number >= self._ready:
                stage.setup()
                self._ready = number + 1
            shown = [record for record in records if not record.get(ERROR) and not record.get(DROPPED)]
            start, start_cores = time.perf_counter(), time.process_time()
            for first in range(0, len(shown), stage.batch_size):
                _run_batch(stage, shown[first:first + stage.batch_size])
            seconds, cores = time.perf_counter() - start, time.process_time() - start_cores
            failed = sum(bool(record.get(ERROR)) for record in shown)
            if failed > _FEW and failed > MOST_FAILED * len(shown) and stage.inputs != (CONTENT,):
                first = next(record for record in shown if record.get(ERROR))
                raise StageBrokenError(f'{stage.name} fails on {failed} of {len(shown)} images; the first is '
                                       f'{first["name"]}: {first[ERROR]}')
            figures[stage.name] = {'images': len(shown), 'seconds': seconds, 'core_seconds': cores,
                                   'gpu_seconds': seconds * stage.num_gpus, 'failed': failed,
                                   'dropped': self._drop(number, shown)}
        return figures

    def _drop(self, number: int, records: Sequence[Record]) -> int:
        """Mark records that a filter behind stage ``number`` drops; how many these are."""
        if not self.drop_early:
            return 0
        dropped = 0
        for record in records:
            if record.get(ERROR):
                continue
            for limit in self._filters_after[number]:
                if not limit.keeps(record[limit.column]):
                    record[DROPPED], record[LAST] = limit.name, number
                    dropped += 1
                    break
        return dropped


def _built(registry: Registry, cfg: Any, where: str) -> Any:
    """A component of a configuration whose arguments fit; one that is built already is taken as it is."""
    if isinstance(cfg, Mapping):
        if 'type' not in cfg:
            raise ConfigError(f'{where} has no type: write dict(type=...)')
        component = registry.get(cfg['type']) if isinstance(cfg['type'], str) else cfg['type']
        check_arguments(where, component, cfg)
    return build_from(registry, cfg)


def _reason(stage: Stage, record: Record, error: Exception) -> str:
    """Why a stage cannot handle an image. What a library says of it tells little without the size of the picture."""
    if isinstance(error, ValueError) or 'picture' not in record:
        return f'{stage.name}: {" ".join(str(error).split())}'
    height, width = record['picture'].shape[:2]
    said = getattr(error, 'err', None) or str(error)
    return f'{stage.name} cannot handle a picture of {width} x {height} pixels ({" ".join(said.split())})'


def _run_batch(stage: Stage, batch: Sequence[Record]) -> None:
    """Run a stage; where it raises, once more on each record alone, to find the one to put in quarantine."""
    try:
        stage.run(batch)
    except FAULTS_OF_RECORDS as error:
        if len(batch) == 1:
            batch[0][ERROR] = _reason(stage, batch[0], error)
            return
        for record in batch:
            _run_batch(stage, [record])
    for record in batch:
        missing = [name for name in stage.outputs if name not in record]
        if missing and not record.get(ERROR):
            raise StageBrokenError(f'{stage.name} has not filled the columns {", ".join(missing)} of {record["name"]}')
