"""The state of a run as tensors by name and plain values beside them, as ``models.checkpoints.sharded`` stores it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from sapiens2.engine.checkpoints import AVERAGED_WEIGHTS, TRAINING_WEIGHTS, cannot_be_resumed, read_training_state
from sapiens2.models.checkpoints import load_pickle
from sapiens2.models.checkpoints.sharded import TRAINING, open_sharded
from sapiens2.models.checkpoints.stored import StoredTensor
from sapiens2.utils.own_part import own_part

if TYPE_CHECKING:
    from sapiens2.engine.runner import Sapiens2Runner

WEIGHTS = ('state_dict', TRAINING_WEIGHTS, AVERAGED_WEIGHTS)
OPTIMIZER = 'optimizer'
# Makes the tensor that a run needs out of a stored one; the name is that of the parameter it belongs to.
Place = Callable[[str, StoredTensor], Tensor]


def optimizer_names(runner: Sapiens2Runner) -> list[str]:
    """Names of the trained parameters in the order in which the optimizer numbers them."""
    names = {id(parameter): name for name, parameter in runner.trained_parameters().items()}
    return [names[id(parameter)] for group in runner.optim_wrapper.optimizer.param_groups
            for parameter in group['params']]


def pack(checkpoint: Mapping[str, Any], names: Sequence[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors of weights and optimizer by name, and all that is left.

    Args:
        checkpoint: of ``CheckpointingRunner.save_checkpoint``.
        names: of ``optimizer_names``.
    """
    tensors: dict[str, Tensor] = {}
    rest: dict[str, Any] = {'weights': [key for key in WEIGHTS if key in checkpoint]}
    for key, value in checkpoint.items():
        if key in WEIGHTS:
            tensors.update({f'{key}.{name}': tensor for name, tensor in value.items()})
        elif key == OPTIMIZER:
            state: dict[str, dict[str, Any]] = {}
            for index, entries in value['state'].items():
                for entry, item in entries.items():
                    if isinstance(item, Tensor):
                        tensors[f'{key}.{names[index]}.{entry}'] = item
                    else:
                        state.setdefault(names[index], {})[entry] = item
            rest[key] = {**value, 'state': state, 'names': list(names)}
        else:
            rest[key] = value
    return tensors, rest


def unpack(tensors: Mapping[str, StoredTensor], rest: Mapping[str, Any], names: Sequence[str], place: Place,
           filename: Path) -> dict[str, Any]:
    """The inverse of ``pack``; ``names`` are those of the run that goes on.

    Raises:
        CheckpointError: if the optimizer is of other parameters.
    """
    checkpoint: dict[str, Any] = {key: {} for key in rest['weights']}
    checkpoint.update({key: value for key, value in rest.items() if key not in ('weights', OPTIMIZER)})
    numbers = {name: index for index, name in enumerate(names)}
    if OPTIMIZER in rest:
        saved = rest[OPTIMIZER]['names']
        if list(names) != saved:
            differing = sorted(set(names) ^ set(saved)) or ['their order']
            raise cannot_be_resumed(filename, 'its optimizer trains other parameters than this config, or groups them '
                                    'otherwise', differing)
        state: dict[int, dict[str, Any]] = {}
        for name, entries in rest[OPTIMIZER]['state'].items():
            state[numbers[name]] = dict(entries)
        checkpoint[OPTIMIZER] = {key: value for key, value in rest[OPTIMIZER].items() if key != 'names'}
        checkpoint[OPTIMIZER]['state'] = state
    for name, stored in tensors.items():
        key, _, inner = name.partition('.')
        if key != OPTIMIZER:
            checkpoint[key][inner] = place(inner, stored)
        else:
            parameter, _, entry = inner.rpartition('.')
            state.setdefault(numbers[parameter], {})[entry] = place(parameter, stored)
    return checkpoint


def read_rest(folder: Path) -> dict[str, Any]:
    """The plain values of a folder; raises BadCheckpointFile."""
    return load_pickle(folder / TRAINING, mmap=False)


def read_whole(runner: Sapiens2Runner, folder: Path) -> dict[str, Any]:
    """The state in a folder, every tensor whole, for a run in which each process has the whole model."""
    tensors, _ = open_sharded(folder)
    return unpack(tensors, read_rest(folder), optimizer_names(runner), lambda _, stored: stored.read().clone(), folder)


def stored_state(filename: Path, names: Sequence[str]) -> tuple[Mapping[str, StoredTensor], dict[str, Any]]:
    """What ``pack`` gives of a checkpoint of either kind, tensors not yet read.

    Args:
        filename: folder, or file of a run in which each process has the whole model.
        names: of ``optimizer_names``; such a file numbers parameters and does not name them.
    """
    if filename.is_dir():
        return open_sharded(filename)[0], read_rest(filename)
    checkpoint = read_training_state(filename, mmap=True)
    if len(names) < len(checkpoint[OPTIMIZER]['state']):
        raise cannot_be_resumed(filename, 'its optimizer trains more parameters than this config')
    tensors, rest = pack(checkpoint, names)
    return {name: StoredTensor((tensor,)) for name, tensor in tensors.items()}, rest


def read_rows(stored: StoredTensor, start: int, stop: int) -> Tensor:
    """Entries ``start`` to ``stop`` along the first dimension; nothing else of the file is read."""
    pieces, begin = [], 0
    for part in stored.parts:
        end = begin + len(part)
        if begin < stop and start < end:
            pieces.append(part[max(start - begin, 0):stop - begin])
        begin = end
    if not pieces:
        return stored.parts[0][:0]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def own_rows(tensor: DTensor) -> tuple[int, int]:
    """First row, and the one after the last, that this process holds of a tensor sharded by rows."""
    shape, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    return offset[0], offset[0] + shape[0]


@torch.no_grad()
def fill(target: Tensor, stored: StoredTensor) -> None:
    """Copy a stored tensor into ``target``, of which this process may hold some rows only."""
    if isinstance(target, DTensor):
        own_part(target).copy_(read_rows(stored, *own_rows(target)))
    else:
        target.copy_(stored.read())
    stored.release()
