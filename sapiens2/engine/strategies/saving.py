"""Saves the state of a sharded run through torch.distributed.checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, distributed
from torch.distributed import checkpoint as dcp
from torch.distributed.tensor import DTensor

from sapiens2.engine.plain import plain
from sapiens2.engine.strategies.shard_writer import ShardWriter


def save(tensors: Mapping[str, Tensor], rest: Mapping[str, Any], folder: Path,
         group: distributed.ProcessGroup) -> None:
    """Write a folder of ``models.checkpoints.sharded``; all processes of ``group`` call this.

    Raises:
        OSError: in all processes, if one of them cannot write; earlier checkpoints are unharmed.
    """
    writer = ShardWriter(folder, rest)
    try:
        dcp.save(dict(tensors), storage_writer=writer, process_group=group)
    except dcp.CheckpointException as error:
        if distributed.get_rank(group) == 0:
            writer.discard()
        rank, (fault, _) = next(iter(error.failures.items()))
        raise OSError(f'{folder} could not be saved, process {rank} cannot write its part: {fault}. Earlier '
                      'checkpoints are unharmed; make room or set work_dir, then go on with --resume.') from fault


def staged(tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Copies in the memory of the host, which training does not change."""
    return {name: _copy(tensor) for name, tensor in tensors.items()}, plain(rest, 'checkpoint')


def _copy(tensor: Tensor) -> Tensor:
    if not isinstance(tensor, DTensor):
        return tensor.detach().to('cpu', copy=True)
    local = tensor.detach().to_local().to('cpu', copy=True)
    return DTensor(local, tensor._spec, requires_grad=False)  # ``from_local`` would move it back to the device
