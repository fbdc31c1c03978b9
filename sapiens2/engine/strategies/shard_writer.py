"""Writes the folders of ``models.checkpoints.sharded`` for torch.distributed.checkpoint.

torch's own writers either put a pickle beside the data or build each file in memory as a whole. This one writes tensor
by tensor and makes the folder appear when every process has written its part.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional, Union

from torch.distributed.checkpoint import SavePlan, SavePlanner, StorageWriter
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from sapiens2.engine.checkpoints import write_training_state
from sapiens2.models.checkpoints.sharded import (ALL, FIRST, MANIFEST, OFFSETS_KEY, TRAINING, describe_file,
                                                 manifest_text)
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.models.checkpoints.write import write_safetensors

PARTIAL = '.partial-'


class ShardWriter(StorageWriter):
    """Writes one checkpoint.

    Args:
        folder: where it is to be; until it is whole, it lies beside that with ``PARTIAL`` before its name.
        rest: plain values for ``training.pth``; of the first process.
    """

    def __init__(self, folder: Path, rest: Mapping[str, Any]) -> None:
        self.folder, self.rest = folder, rest
        self.partial = folder.with_name(f'{PARTIAL}{folder.name}')

    def reset(self, checkpoint_id: Union[str, os.PathLike, None] = None) -> None:
        """Each instance writes once."""

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Nothing is kept open."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Of this process. Nothing to add."""
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Called in the first process, before any writes: make the folder, and number the files."""
        for leftover in self.folder.parent.glob(f'{PARTIAL}{self.folder.name.rpartition("_")[0]}_*'):
            if leftover.is_dir():  # of a run that was killed while it saved; a live one holds the lock of the folder
                shutil.rmtree(leftover)
        self.partial.mkdir(parents=True)
        write_training_state(self.rest, self.partial / TRAINING)
        return [SavePlan(plan.items, storage_data=f'shard-{number:05d}-of-{len(plans):05d}.safetensors',
                         planner_data=plan.planner_data) for number, plan in enumerate(plans, 1)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what this process holds."""
        state: dict[str, StoredTensor] = {}
        offsets: dict[str, dict[str, Any]] = {}
        items = [item for item in plan.items if 0 not in item.tensor_data.chunk.sizes]  # rows are fewer than processes
        for item in items:
            name = item.index.fqn
            state[name] = StoredTensor((planner.resolve_data(item).detach(),))
            offsets[name] = {FIRST: list(item.tensor_data.chunk.offsets)}
            if item.tensor_data.size:
                offsets[name][ALL] = item.tensor_data.size[0]
        result: Future[list[WriteResult]] = Future()
        written: list[WriteResult] = []
        if state:
            path = self.partial / plan.storage_data
            write_safetensors(path, state, metadata={OFFSETS_KEY: json.dumps(offsets), 'DCP_VERSION': '1.0'})
            entry = (path.name, describe_file(path))
            written = [WriteResult(item.index, state[item.index.fqn].parts[0].nbytes, entry) for item in items]
        result.set_result(written)
        return result

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Called in the first process, when all have written: list the files, and give the folder its name."""
        files = {TRAINING: describe_file(self.partial / TRAINING)}
        files.update(result.storage_data for written in results for result in written)
        (self.partial / MANIFEST).write_text(manifest_text(files), encoding='utf-8')
        replaced: Optional[Path] = None
        if self.folder.exists():
            replaced = self.folder.with_name(f'{PARTIAL}{self.folder.name}-replaced')
            self.folder.rename(replaced)
        self.partial.rename(self.folder)
        if replaced is not None:
            shutil.rmtree(replaced)

    def discard(self) -> None:
        """Remove what was written of a checkpoint that cannot be finished."""
        shutil.rmtree(self.partial, ignore_errors=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Union[str, os.PathLike]) -> bool:
        """Any local path."""
        return True
