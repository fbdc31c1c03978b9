"""Values for a model of which each process holds a part.

Every process maps the files and reads the rows that it holds: of all processes on a machine together each byte is read
once, into memory that the system shares between them, and nobody has to send anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import torch
from mmengine.logging import print_log
from torch import Tensor, distributed, nn
from torch.distributed.tensor import DTensor

from sapiens2.engine.checkpoints import cannot_be_resumed
from sapiens2.engine.strategies.sharded_state import WEIGHTS, fill, optimizer_names, stored_state, unpack
from sapiens2.models.checkpoints import CheckpointMismatch, open_checkpoint
from sapiens2.models.checkpoints.load import match, suggest
from sapiens2.models.checkpoints.stored import StoredTensor

if TYPE_CHECKING:
    from sapiens2.engine.runner import Sapiens2Runner



def load_weights(model: nn.Module, filename: Union[str, Path], strict: bool) -> None:
    """``load_checkpoint`` for a sharded model; raises the same."""
    target = model.state_dict(keep_vars=True)
    state, origin = open_checkpoint(filename, like=target)
    report, entries = match(target, state, origin)
    if not report.loaded or (strict and not report.matches):
        raise CheckpointMismatch(report, suggest(report, target, state))
    for name, stored in entries.items():
        fill(target[name], stored)
    print_log(report.summary() if report.matches else report.table(), logger='current')


@torch.no_grad()
def fill_from(model: nn.Module, whole: Optional[nn.Module], group: distributed.ProcessGroup) -> None:
    """Give the parts of ``model`` the values of ``whole``, which the first process has, one tensor after the other."""
    values = None if whole is None else whole.state_dict()
    for name, target in model.state_dict().items():
        value = torch.empty(target.shape, dtype=target.dtype) if values is None else values[name].contiguous()
        distributed.broadcast(value.reshape(-1).view(torch.uint8), src=0, group=group)  # gloo knows few dtypes
        fill(target, StoredTensor((value,)))


def read_state(runner: Sapiens2Runner, filename: Path) -> Mapping[str, Any]:
    """The state of a run, tensors spread as those of its model are.

    Raises:
        CheckpointError: if it is not one of such a model.
    """
    model, names = runner.bare_model, optimizer_names(runner)
    like: dict[str, Tensor] = model.state_dict()
    tensors, rest = stored_state(filename, names)
    _check_shapes(like, tensors, filename)

    def place(name: str, stored: StoredTensor) -> Tensor:
        target = like.get(name)
        if not isinstance(target, DTensor) or stored.shape != target.shape:
            return stored.read().clone()
        result = torch.empty_like(target, dtype=stored.dtype)
        fill(result, stored)
        return result

    return unpack(tensors, rest, names, place, filename)


def _check_shapes(like: Mapping[str, Tensor], tensors: Mapping[str, StoredTensor], filename: Path) -> None:
    faults = []
    for name, stored in tensors.items():
        key, _, inner = name.partition('.')
        if key in WEIGHTS and inner not in like:
            faults.append(f'{inner} is not in the model')
        elif key in WEIGHTS and stored.shape != like[inner].shape:
            faults.append(f'{inner} is {tuple(stored.shape)} in the file and {tuple(like[inner].shape)} in the model')
    if faults:
        raise cannot_be_resumed(filename, 'it is of another model', faults)
