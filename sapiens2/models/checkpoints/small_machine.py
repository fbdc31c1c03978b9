"""Builds networks for inference in the memory that is free."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Union

import torch
from mmengine.logging import print_log
from torch import nn

from sapiens2.models.checkpoints.block_weights import find_blocks, load_all_but_blocks, parameter_bytes
from sapiens2.models.checkpoints.build import RANDOM, build_model, model_config, parameters_on_meta
from sapiens2.models.checkpoints.layer_streaming import BLOCKS_IN_MEMORY, LayerStream
from sapiens2.models.layers.int8_linear import to_int8
from sapiens2.registry import MODELS, register_all
from sapiens2.utils.memory import STREAMING, NotEnoughMemory, available_gib, fits
from sapiens2.utils.suggest import UnknownNameError, unknown_name


def build_for_inference(config: Any, checkpoint: Union[str, Path, None], device: torch.device, dtype: torch.dtype,
                        stream_layers: str = 'auto', int8_weights: bool = False) -> nn.Module:
    """Build and fill a model that is not going to be trained.

    Args:
        config, checkpoint: see ``build_model``.
        device: where it computes.
        dtype: dtype that it computes in.
        stream_layers: 'always' keeps three blocks of the backbone in memory and reads each from the file when its turn
            comes, for each batch anew; 'never' keeps all weights; 'auto' streams on a CPU where the weights do not fit
            into the free memory, and says so.
        int8_weights: keep the weights of the blocks in int8; on a CPU only.

    Raises:
        ValueError: for another word, a backbone that has no blocks, int8 elsewhere, or both ways at once.
        NotEnoughMemory: if the weights do not fit, and what could help.
        FileNotFoundError, BadCheckpointFile, CheckpointMismatch: see ``load_checkpoint``.
    """
    if stream_layers not in STREAMING:
        raise UnknownNameError(unknown_name(stream_layers, STREAMING, 'value of stream_layers'))
    if int8_weights and device.type != 'cpu':
        raise ValueError(f'int8_weights are for the CPU, not for {device}: leave them out, or choose the device cpu')
    if int8_weights and stream_layers == 'always':
        raise ValueError("int8_weights stay in memory and cannot be streamed: choose one, int8_weights or "
                         "stream_layers='always'")
    if checkpoint is None or checkpoint == RANDOM:
        if stream_layers == 'always':
            raise ValueError("stream_layers='always' reads weights from a file: name one as the weights")
        model = build_model(config, checkpoint, device, dtype)
        if int8_weights:
            for block in find_blocks(model)[1]:
                to_int8(block)
        return model
    register_all()
    with parameters_on_meta():
        model = MODELS.build(model_config(config))
    if int8_weights:
        _check_int8(model, dtype)
        for weights in load_all_but_blocks(model, checkpoint, dtype, device):
            weights.load(weights.read())
            to_int8(weights.block)
            weights.release()
        return model
    size, available = parameter_bytes(model, dtype), available_gib()
    has_to = stream_layers == 'auto' and device.type == 'cpu' and not fits(size, available)
    if has_to or stream_layers == 'always':
        _check_streaming(model, dtype, device)
        if has_to:
            print_log(f'The weights, {_gib(size)}, do not fit into the free memory, {available:.2f} GiB: the blocks '
                      f'are read from {checkpoint} one by one, for each batch anew. Larger batches share the reading.',
                      logger='current', level=logging.WARNING)
        LayerStream(load_all_but_blocks(model, checkpoint, dtype, device))
        return model
    return build_model(config, checkpoint, device, dtype)


def _gib(size: int) -> str:
    return f'{size / 2**30:.2f} GiB'


def _check_streaming(model: nn.Module, dtype: torch.dtype, device: torch.device) -> None:
    """
    Raises:
        NotEnoughMemory: if not even what lies outside the blocks and a few of those fit.
    """
    sizes = [parameter_bytes(block, dtype) for block in find_blocks(model)[1]]
    size = parameter_bytes(model, dtype) - sum(sizes) + BLOCKS_IN_MEMORY * max(sizes)
    available = available_gib()
    if device.type == 'cpu' and not fits(size, available):
        raise NotEnoughMemory(
            f'Even with its blocks read one by one the network needs {_gib(size)} for weights, and room for images; '
            f"{available:.2f} GiB are free. Close other programs, or choose a smaller model; "
            "stream_layers='never' (--stream-layers never) keeps all weights and leaves the rest to the system")


def _check_int8(model: nn.Module, dtype: torch.dtype) -> None:
    """
    Raises:
        NotEnoughMemory: if the weights do not fit in int8.
    """
    blocks = sum(parameter_bytes(block, torch.int8) for block in find_blocks(model)[1])
    size = parameter_bytes(model, dtype) - blocks * dtype.itemsize + blocks
    available = available_gib()
    if not fits(size, available):
        raise NotEnoughMemory(f'In int8 the weights take {_gib(size)}; {available:.2f} GiB are free. Leave '
                              "int8_weights out and stream the layers: stream_layers='always', --stream-layers always")
