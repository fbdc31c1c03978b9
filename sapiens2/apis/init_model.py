"""From a config and a file of weights to a model that is ready to run."""

from __future__ import annotations

from pathlib import Path
from typing import Union

import torch
from mmengine.config import Config
from torch import nn

from sapiens2.models.checkpoints import build_model
from sapiens2.models.checkpoints.small_machine import build_for_inference
from sapiens2.utils.config import load_config
from sapiens2.utils.devices import pick_device, pick_dtype


def init_model(config: Union[str, Path, Config, dict],
               checkpoint: Union[str, Path, None] = None,
               device: str = 'auto',
               dtype: Union[str, torch.dtype, None] = None,
               stream_layers: str = 'never',
               int8_weights: bool = False) -> nn.Module:
    """Build a model, fill it strictly and switch it to evaluation.

    Args:
        config: a config file, its content, or the dictionary of a model.
        checkpoint: a file of weights of any format that is read here, or a folder in transformers' format. Without one
            the weights are random, and a warning says so.
        device: 'auto', 'cuda', 'cuda:1', 'mps' or 'cpu'.
        dtype: of the parameters: 'bf16', 'fp32', their long names, 'auto' or torch's; default: float32.
        stream_layers, int8_weights: for machines with little memory, see ``build_for_inference``; here nothing is
            streamed unless asked for ('auto' or 'always').

    Returns:
        The model, with ``config`` as its attribute ``cfg``.

    Raises:
        FileNotFoundError: if there is no such checkpoint.
        BadCheckpointFile: if the file is no usable checkpoint.
        CheckpointMismatch: if it does not fit; the message says which config would.
        ConfigError: for a config file that is missing or has an unknown entry.
        NotEnoughMemory: see ``build_for_inference``.
        ValueError: for a config without a model, an unknown device or dtype, or ways to save memory that do not go
            together.
    """
    if isinstance(config, (str, Path)):
        config = load_config(config)
    if stream_layers == 'never' and not int8_weights:
        model = build_model(config, checkpoint, device, dtype)
    else:
        place = pick_device(device)
        chosen = pick_dtype(dtype, place) if isinstance(dtype, str) else dtype or torch.float32
        model = build_for_inference(config, checkpoint, place, chosen, stream_layers, int8_weights)
    model.eval()
    model.cfg = config
    return model
