"""Training state as plain values, so that a checkpoint loads with ``torch.load(weights_only=True)``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from mmengine.logging import HistoryBuffer, MessageHub
from torch import Tensor

HISTORY = ('log_history', 'count_history')
# Runtime information that the runner sets anew in every run.
TRANSIENT_INFO = ('cfg', 'dataset_meta', 'experiment_name', 'seed', 'mmengine_version', 'loop_stage', 'eta')


def plain(value: Any, path: str) -> Any:
    """``value`` as tensors on the CPU, dictionaries, lists, tuples, strings and numbers.

    numpy arrays become tensors, numpy scalars Python numbers, paths strings, sets sorted lists.

    Args:
        value: what a checkpoint is to hold.
        path: its place in the checkpoint, for the error.

    Raises:
        TypeError: for anything else, with its place.
    """
    if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {plain(key, path): plain(item, f'{path}.{key}') for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return plain(sorted(value), path)
    if isinstance(value, (list, tuple)):
        items = [plain(item, f'{path}.{index}') for index, item in enumerate(value)]
        return tuple(items) if isinstance(value, tuple) else items
    raise TypeError(f'{path} is a {type(value).__name__}, which a checkpoint cannot hold without pickling code; '
                    'store tensors, numbers, strings, lists and dictionaries')


def pack_message_hub(hub: MessageHub) -> dict[str, Any]:
    """History of the log and runtime information that a resumed run goes on with."""
    state = hub.state_dict()
    return {
        'log_scalars': {
            name: {'max_length': buffer.max_length, **dict(zip(HISTORY, map(torch.from_numpy, buffer.data)))}
            for name, buffer in state['log_scalars'].items()},
        'runtime_info': plain({name: value for name, value in state['runtime_info'].items()
                               if name not in TRANSIENT_INFO}, 'message_hub.runtime_info'),
    }


def unpack_message_hub(hub: MessageHub, state: Mapping[str, Any]) -> None:
    """Put back what ``pack_message_hub``, or MMEngine's own runner, saved."""
    for name, value in state['log_scalars'].items():
        buffer = value if isinstance(value, HistoryBuffer) else HistoryBuffer(
            *(value[key].numpy() for key in HISTORY), max_length=value['max_length'])
        hub.log_scalars[name] = buffer
        hub._resumed_keys[name] = True
    hub.update_info_dict({name: value for name, value in state['runtime_info'].items() if name not in TRANSIENT_INFO})
