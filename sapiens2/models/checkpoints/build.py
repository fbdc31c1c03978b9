"""Builds models without paying for random weights that a checkpoint replaces."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

import torch
from mmengine.config import Config
from mmengine.logging import MMLogger, print_log
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from sapiens2.models.checkpoints.load import load_checkpoint, match
from sapiens2.models.checkpoints.source import open_checkpoint
from sapiens2.registry import MODELS, register_all
from sapiens2.utils.devices import pick_device, pick_dtype

# In place of a checkpoint: random weights.
RANDOM = 'random'


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Put the parameters of all modules made in this thread on the meta device, where filling them costs nothing.

    Buffers stay real, because modules compute them (rotary periods, pixel means) and files often lack them.
    """
    thread = threading.get_ident()

    def to_meta(module: nn.Module, name: str, parameter: Optional[nn.Parameter]) -> Optional[nn.Parameter]:
        if threading.get_ident() != thread or type(parameter) is not nn.Parameter or parameter.is_meta:
            return None
        return nn.Parameter(parameter.to('meta'), requires_grad=parameter.requires_grad)

    handle = register_module_parameter_registration_hook(to_meta)
    try:
        yield
    finally:
        handle.remove()


def model_config(config: Union[str, Path, Config, dict]) -> Config:
    """The config of a model out of a config file, or of a dictionary with or without ``model`` around it.

    Raises:
        ValueError: if it has neither ``model`` nor ``type``.
    """
    if isinstance(config, (str, Path)):
        config = Config.fromfile(config)
    if 'type' in config:
        return config
    if 'model' not in config:
        raise ValueError("the config has no 'model': name a config of this project, or a dictionary with the type of "
                         'a model')
    return config['model']


def build_model(config: Union[str, Path, Config, dict],
                checkpoint: Union[str, Path, None] = None,
                device: str = 'auto',
                dtype: Union[str, torch.dtype, None] = None,
                strict: bool = True) -> nn.Module:
    """Build a model and fill it.

    Args:
        config: a config file, or the dictionary of a model.
        checkpoint: see ``open_checkpoint``. Without one the weights are random, and a warning says so; 'random' asks
            for that, so it is silent.
        device: see ``pick_device``.
        dtype: floating-point dtype of the parameters, or its name for ``pick_dtype``; buffers keep theirs. Default:
            float32. A model in another dtype needs its inputs in that dtype, or autocast.
        strict: see ``load_checkpoint``; with False the weights that the file lacks are random.

    Raises:
        ValueError: for an unknown device or dtype.
        FileNotFoundError, BadCheckpointFile, CheckpointMismatch: see ``load_checkpoint``.
    """
    register_all()
    config, device = model_config(config), pick_device(device)
    if isinstance(dtype, str):
        dtype = pick_dtype(dtype, device)
    if checkpoint is None or checkpoint == RANDOM:
        model = _build_random(config)
        if checkpoint is None:
            print_log(f'The weights of {config["type"]} are random, because no checkpoint was given: its results mean '
                      'nothing.', logger='current', level=logging.WARNING)
    else:
        with parameters_on_meta():
            model = MODELS.build(config)
        if not strict and _lacks_weights(model, checkpoint):
            model = _build_random(config)
        load_checkpoint(model, checkpoint, strict, dtype, device)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(device, dtype)
    return model.to(device)


def _build_random(config: Any) -> nn.Module:
    model = MODELS.build(config)
    # MMEngine logs a line per parameter.
    logger = MMLogger.get_current_instance()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        model.init_weights()
    finally:
        logger.setLevel(level)
    return model


def _lacks_weights(model: nn.Module, checkpoint: Union[str, Path]) -> bool:
    """Whether some parameters would stay without values."""
    target = model.state_dict(keep_vars=True)
    report, _ = match(target, *open_checkpoint(checkpoint, like=target))
    return bool(report.missing or report.misshapen)
