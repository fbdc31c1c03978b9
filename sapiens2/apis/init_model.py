"""From a config and a file of weights to a model that is ready to run."""

from __future__ import annotations

from pathlib import Path
from typing import Union

import torch
from mmengine.config import Config
from torch import nn

from sapiens2.models.checkpoints import build_model
from sapiens2.utils.config import load_config


def init_model(config: Union[str, Path, Config, dict],
               checkpoint: Union[str, Path, None] = None,
               device: str = 'auto',
               dtype: Union[str, torch.dtype, None] = None) -> nn.Module:
    """Build a model, fill it strictly and switch it to evaluation.

    Args:
        config: a config file, its content, or the dictionary of a model.
        checkpoint: a file of weights of any format that is read here, or a folder in transformers' format. Without one
            the weights are random, and a warning says so.
        device: 'auto', 'cuda', 'cuda:1', 'mps' or 'cpu'.
        dtype: of the parameters: 'bf16', 'fp32', their long names, 'auto' or torch's; default: float32.

    Returns:
        The model, with ``config`` as its attribute ``cfg``.

    Raises:
        FileNotFoundError: if there is no such checkpoint.
        BadCheckpointFile: if the file is no usable checkpoint.
        CheckpointMismatch: if it does not fit; the message says which config would.
        ConfigError: for a config file that is missing or has an unknown entry.
        ValueError: for a config without a model, or an unknown device or dtype.
    """
    if isinstance(config, (str, Path)):
        config = load_config(config)
    model = build_model(config, checkpoint, device, dtype).eval()
    model.cfg = config
    return model
