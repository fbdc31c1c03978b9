"""Puts a checkpoint of any supported format into a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional, Union

import torch
from mmengine.logging import print_log
from torch import Tensor, nn

from sapiens2.models.backbones.sapiens import resize_pos_embed
from sapiens2.models.checkpoints.describe import describe, pos_embed_grid
from sapiens2.models.checkpoints.errors import CheckpointMismatch
from sapiens2.models.checkpoints.layouts import SAPIENS_V1
from sapiens2.models.checkpoints.report import LoadReport
from sapiens2.models.checkpoints.source import BACKBONE, PRETRAINING, Origin, open_checkpoint, readings
from sapiens2.models.checkpoints.stored import StoredTensor

# The rotary periods, which transformers does not store.
PERIODS = 'rope_embed.periods'
# Buffers that a model computes itself, so that a file may lack them.
COMPUTED = (PERIODS,)


def load_checkpoint(model: nn.Module,
                    path: Union[str, Path],
                    strict: bool = True,
                    dtype: Optional[torch.dtype] = None,
                    device: Union[str, torch.device] = 'cpu') -> LoadReport:
    """Fill ``model`` from a checkpoint.

    Parameters on the meta device get the tensors of the file, converted one by one; those of a safetensors file on the
    CPU that need no conversion stay mapped to it. Other parameters are copied into, unless ``dtype`` is another one.
    Buffers keep their dtype. When a backbone is filled from the checkpoint of a task, the decoder is left aside.

    Args:
        model: a backbone, or an estimator with ``backbone`` and ``decode_head``.
        path: see ``open_checkpoint``.
        strict: refuse unless every parameter is filled and nothing is left over.
        dtype: floating-point dtype of the parameters. Default: that of the model.
        device: where parameters go that are on the meta device; the others stay where they are.

    Raises:
        FileNotFoundError, BadCheckpointFile, CheckpointError: see ``open_checkpoint``.
        CheckpointMismatch: if it does not fit; the model is unchanged, and the message says which config would fit.
    """
    report, entries = fitting_entries(model, path, strict)
    fill(model, entries, dtype, torch.device(device))
    print_log(report.summary() if report.matches else report.table(), logger='current')
    return report


def fitting_entries(model: nn.Module, path: Union[str, Path],
                    strict: bool = True) -> tuple[LoadReport, dict[str, StoredTensor]]:
    """What ``load_checkpoint`` is about to load, by the names of the model; nothing is read. It raises the same."""
    target = model.state_dict(keep_vars=True)
    state, origin = open_checkpoint(path, like=target)
    report, entries = match(target, state, origin)
    if not report.loaded or (strict and not report.matches):
        raise CheckpointMismatch(report, suggest(report, target, state))
    return report, entries


def match(target: Mapping[str, Tensor], state: Mapping[str, StoredTensor],
          origin: Origin) -> tuple[LoadReport, dict[str, StoredTensor]]:
    """Compare a model with a checkpoint, without reading tensors.

    Args:
        target: parameters and buffers of the model by name.
        state, origin: as ``open_checkpoint`` returns them.

    Returns:
        The report, and the entries that fit under the names of the model.
    """
    source = max(readings(dict(state)), key=lambda names: len(target.keys() & names.keys()))
    report = LoadReport(origin)
    if len(source) < len(state):
        report.unused += [name for name in state if not name.startswith(BACKBONE)]
    if origin.layout == SAPIENS_V1:
        _fit_position_embedding(target, source, report)
    fitting: dict[str, StoredTensor] = {}
    for name, stored in source.items():
        if name not in target:
            report.unexpected.append(name)
        elif stored.shape != target[name].shape:
            report.misshapen.append((name, stored.shape, target[name].shape))
        else:
            report.loaded.append(name)
            fitting[name] = stored
    for name, tensor in target.items():
        if name not in source:
            computed = name.endswith(COMPUTED) and not tensor.is_meta
            (report.computed if computed else report.missing).append(name)
    return report, fitting


def _fit_position_embedding(target: Mapping[str, Tensor], source: dict[str, StoredTensor],
                            report: LoadReport) -> None:
    """Drop the class token that a v1 model does without, and resize the position embedding to its grid, in ``source``.

    The model's own grid is told from its number of patches, see ``pos_embed_grid``.
    """
    for prefix in ('', BACKBONE):
        name, token = f'{prefix}pos_embed', f'{prefix}cls_token'
        if name not in source or name not in target:
            continue
        stored, wanted = source[name], target[name].shape
        held, kept = int(token in source), int(token in target)
        if held and not kept:
            del source[token]
            report.unused.append(token)
            stored = StoredTensor((stored.parts[0][:, 1:],), stored.release)
            held = 0
        if held == kept and stored.shape != wanted and stored.shape[2] == wanted[2]:
            grids = pos_embed_grid(stored.shape[1] - held), pos_embed_grid(wanted[1] - held)
            report.resized.append((name, *grids))
            stored = StoredTensor((resize_pos_embed(stored.parts[0], *grids, held),))
        source[name] = stored


def fill(model: nn.Module, entries: Mapping[str, StoredTensor], dtype: Optional[torch.dtype],
         device: torch.device) -> None:
    """Read the entries and put them into the model, as ``load_checkpoint`` says."""
    target = model.state_dict(keep_vars=True)

    def wanted(name: str) -> torch.dtype:
        tensor = target[name]
        return dtype if dtype and isinstance(tensor, nn.Parameter) and tensor.is_floating_point() else tensor.dtype

    assign = any(target[name].is_meta or target[name].dtype != wanted(name) for name in entries)
    tensors = {}
    for name, stored in entries.items():
        if assign:
            value = stored.read(wanted(name), device if target[name].is_meta else target[name].device)
            tensors[name] = value.clone() if stored.volatile and value is stored.parts[0] else value
        else:
            tensors[name] = stored.read()
    model.load_state_dict(tensors, strict=False, assign=assign)


def suggest(report: LoadReport, target: Mapping[str, Tensor], state: Mapping[str, StoredTensor]) -> str:
    """What to do about a checkpoint that does not fit."""
    held, model = (describe({name: tensor.shape for name, tensor in tensors.items()}) for tensors in (state, target))
    if held.type is None and held.task is None:
        return 'The file holds no backbone of this project: check that it is the right one.'
    lines = [f'The file holds {held}; the model is {model}.']
    if any(name.startswith(PRETRAINING) for name in target):
        lines.append('The model is one of pretraining. To start it from the backbone of a run with other branches, '
                     'write that with "sapiens2 convert FILE BACKBONE.safetensors --to released" and load the result.')
        return '\n'.join(lines)
    same_backbone = (held.type, held.arch, held.use_tokenizer) == (model.type, model.arch, model.use_tokenizer)
    if same_backbone and held.task is None and model.task:
        lines.append('To train the decoder anew, load it with strict=False, or into model.backbone alone.')
    elif same_backbone and held.task == model.task and report.misshapen:
        lines.append(f'Only some shapes differ: model.decode_head = {held.config()["decode_head"]} fits, or drop what '
                     'differs with strict=False.' if held.head != model.head else
                     'Only some shapes differ: give the model what the file has, or drop what differs with '
                     'strict=False.')
    else:
        lines.append(f'This fits: model = {held.config()}.')
        leaves = held.leaves()
        if leaves:
            lines.append(f'Such a config is {" or ".join(leaves)}.')
    return '\n'.join(lines)
